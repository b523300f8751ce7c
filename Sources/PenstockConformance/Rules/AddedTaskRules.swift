import PenstockCore
import PenstockTestKit
import Testing

/// Tasks that a task adds to its workflow.
enum AddedTaskRules {
    static let cases: ConformanceCase.Rules = [
        "what waits for the task waits for what it adds": awaited,
        "what is not awaited holds nobody up": notAwaited,
        "are added with the verdict or not at all": wholeOrNot,
        "are not added by who has lost the lease": leaseLost,
        "wait for each other": chained,
        "are waited for also by what is cancelled for the moment": awaitedByCancelled,
        "are waited for also by what has expired and is redriven": awaitedByExpired,
        "are not too many for those that wait": tooManyDependencies,
        "make a workflow no larger than one start may": tooManyTasks,
    ]

    private static func add(
        _ tasks: [NewTask], by message: ClaimedMessage, isAwaited: Bool = true, _ store: any MessageStore
    ) async throws -> SettleResult {
        let added = AddedTasks(tasks, isAwaited: isAwaited)
        return try await store.settle([Settlement(message.lease, .done, added: added)]).first ?? .leaseLost
    }

    static func awaited(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.begin([("split", []), ("other", []), ("join", ["split", "other"])])
        let split = try await store.takeOne()
        #expect(try await add([.of("part 1", queue: .mail), .of("part 2")], by: split, store) == .settled(.done))
        #expect(try await store.drainDone() == ["other", "part 2"])
        let join = try await store.tasks(TaskQuery(.flow, name: .named("join"))).first
        #expect(join?.state == .pending)
        #expect(join?.dependencies.map(\.dependency.task.text) == ["split", "other", "part 1", "part 2"])
        #expect(try await store.drainDone(.mail) == ["part 1"])
        #expect(try await store.drainDone() == ["join"])
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.counts == [.done: 5])
    }

    static func awaitedByExpired(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.whenExpired = .dead }, mail: .steady())
        let join = NewTask(
            .named("join"), queue: .jobs, message: .text("join", expiry: .after(.seconds(10))),
            dependencies: [Dependency(on: .named("split"))])
        let tasks = [NewTask(.named("split"), queue: .mail, message: .text("split")), join]
        let started = try await store.begin(tasks: tasks)
        let split = try #require(try await store.take(1, from: .mail, lease: .seconds(600)).first)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(1).isEmpty)
        #expect(try await store.state(of: started.receipts[1].sequence) == .dead)
        #expect(try await add([.of("part", queue: .mail)], by: split, store) == .settled(.done))
        #expect(try await store.apply(.redrive, to: [started.receipts[1].sequence]) == 1)
        #expect(try await store.drainDone().isEmpty)
        #expect(try await store.drainDone(.mail) == ["part"])
        #expect(try await store.drainDone() == ["join"])
    }

    static func notAwaited(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        #expect(try await add([.of("c")], by: a, isAwaited: false, store) == .settled(.done))
        #expect(try await store.drainDone() == ["b", "c"])
    }

    static func wholeOrNot(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .fail))
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        try await store.put("x")
        await expect(.queueFull) { try await add([.of("c")], by: a, store) }
        await expect(.unknownQueue) { try await add([.of("c", queue: .mail)], by: a, store) }
        await expect(.invalidInput) { try await add([.of("b", after: [])], by: a, store) }
        await expect(.invalidInput) { try await add([.of("c", after: [.init(on: .named("a"))])], by: a, store) }
        await expect(.invalidInput) {
            try await store.settle([
                Settlement(a.lease, .retry(error: "no"), added: AddedTasks([.of("c")]))
            ])
        }
        #expect(try await store.state(of: a.sequence) == .leased)
        #expect(try await store.totals().enqueued == 3)
        let x = try await store.takeOne()
        await expect(.invalidInput) { try await add([.of("c")], by: x, store) }
        #expect(try await store.state(of: x.sequence) == .leased)
        #expect(try await add([.of("c")], by: a, store) == .settled(.done))
    }

    static func leaseLost(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        _ = try await store.give(.release, for: a)
        #expect(try await add([.of("c")], by: a, store) == .leaseLost)
        #expect(try await store.tasks(TaskQuery(.flow)).count == 2)
    }

    static func chained(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        #expect(try await add([.of("c"), .of("d", after: [.init(on: .named("c"))])], by: a, store) == .settled(.done))
        let c = try await store.work(.dead(error: "bad"))
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.state) == [.done, .cancelled, .dead, .cancelled])
        _ = try await store.apply(.redrive, to: [c])
        for name in ["c", "d", "b"] { #expect(try await store.drainDone() == [name]) }
    }

    /// One that was cancelled because of another task comes back, and does not slip past what was added meanwhile.
    static func awaitedByCancelled(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("split", []), ("other", []), ("join", ["split", "other"])])
        let both = try await store.take(2)
        #expect(try await store.give(.dead(error: "bad"), for: both[1]) == .settled(.dead))
        #expect(try await add([.of("part")], by: both[0], store) == .settled(.done))
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.state) == [.done, .dead, .cancelled, .ready])
        _ = try await store.apply(.redrive, to: [both[1].sequence])
        #expect(try await store.work(.done) == both[1].sequence)
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.state) == [.done, .done, .pending, .ready])
        #expect(try await store.drainDone() == ["part"])
        #expect(try await store.drainDone() == ["join"])
    }

    static func tooManyDependencies(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", [])] + (1...400).map { ("\($0)", ["a"]) })
        let a = try await store.takeOne()
        let added = (1...251).map { NewTask.of("part \($0)") }
        await expect(.invalidInput) { try await add(added, by: a, store) }
        #expect(try await store.state(of: a.sequence) == .leased)
        #expect(try await store.totals().enqueued == 401)
        #expect(try await add(added, by: a, isAwaited: false, store) == .settled(.done))
    }

    static func tooManyTasks(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        // One less than there may be.
        var tasks: [NewTask] = [.of("a")]
        for number in 2..<Limits.taskCountMax { tasks.append(.of("\(number)", queue: .mail)) }
        try await store.begin(tasks: tasks)
        let a = try await store.takeOne()
        await expect(.invalidInput) { try await add([.of("b"), .of("c")], by: a, store) }
        #expect(try await store.state(of: a.sequence) == .leased)
        #expect(try await store.totals().enqueued == 1)
        #expect(try await add([.of("b")], by: a, store) == .settled(.done))
        let b = try await store.takeOne()
        await expect(.invalidInput) { try await add([.of("c")], by: b, store) }
        #expect(try await store.give(.done, for: b) == .settled(.done))
        #expect(try await store.totals().enqueued == 2)
    }
}
