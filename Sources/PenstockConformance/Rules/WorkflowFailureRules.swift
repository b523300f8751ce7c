import PenstockCore
import PenstockTestKit
import Testing

/// What becomes of tasks when one that they wait for is not done.
enum WorkflowFailureRules {
    static let cases: ConformanceCase.Rules = [
        "a dead letter cancels what waits for it": cancels,
        "a task that holds waits for the redrive, or goes with the discard": holds,
        "one that needs an end begins whatever the end is": ended,
        "a redrive brings back what was cancelled because of it": revives,
        "a dead letter that is forgotten holds nothing up": forgotten,
        "what was cancelled by hand stays cancelled": byHand,
        "what needs two comes back with the second": twoParents,
        "a retry changes nothing for those that wait": retries,
        "a worker that dies for the last time cancels what waits": lost,
        "a queue that is deleted cancels what waits for its tasks": deleted,
        "what was met stays met when its queue is deleted": deletedAfterwards,
        "a chain of 3,000 follows its head": longChain,
        "one task by hand cancels what waits for it": cancelledTask,
    ]

    private static func states(_ store: any MessageStore) async throws -> [MessageState] {
        try await store.tasks(TaskQuery(.flow)).map(\.state)
    }

    static func cancels(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["b"]), ("d", [])])
        try await store.work(.dead(error: "bad"))
        #expect(try await states(store) == [.dead, .cancelled, .cancelled, .ready])
        let tasks = try await store.tasks(TaskQuery(.flow))
        #expect(tasks.map(\.reason) == [.rejected, .parentFailed, .parentFailed, nil])
        #expect(tasks[1].dependencies == [DependencyRecord(Dependency(on: .named("a")), state: .failed)])
        #expect(try await store.totals() == .of(enqueued: 4, dead: 1, cancelled: 2))
        #expect(try await store.depths() == .of(ready: 1, dead: 1, kept: 2))
        try await store.work(.done)
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .failed)
    }

    static func holds(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin(tasks: [
            .of("a"), .of("b", after: [.init(on: .named("a"), need: .done(whenDead: .hold))]),
            .of("c"), .of("d", after: [.init(on: .named("c"), need: .done(whenDead: .hold))]),
            .of("e"), .of("f", after: [.init(on: .named("e"), need: .done(whenDead: .hold))]),
        ])
        let held = try await store.take(3)
        _ = try await store.settle(held.map { Settlement($0.lease, .dead(error: "bad")) })
        #expect(try await states(store) == [.dead, .pending, .dead, .pending, .dead, .pending])
        _ = try await store.apply(.redrive, to: [held[0].sequence])
        #expect(try await states(store)[0...1] == [.ready, .pending])
        _ = try await store.apply(.discard, to: [held[1].sequence])
        #expect(try await states(store)[2...3] == [.cancelled, .cancelled])
        #expect(try await store.drainDone() == ["a"])
        #expect(try await store.drainDone() == ["b"])
        await expect(.illegalTransition) {
            try await store.apply(.redrive, to: [held[2].sequence, SequenceNumber(held[2].sequence.rawValue + 1)])
        }
        #expect(try await states(store)[4...5] == [.dead, .pending])
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .held)
    }

    /// Of two that one task waits for, the other one has cancelled it before.
    static func forgotten(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let held = Dependency(on: .named("b"), need: .done(whenDead: .hold))
        try await store.begin(tasks: [
            .of("a"), .of("b", queue: .mail), .of("c", after: [Dependency(on: .named("a")), held]),
        ])
        let a = try await store.take(1)[0]
        _ = try await store.give(.dead(error: "bad"), for: a)
        _ = try await store.give(.dead(error: "bad"), for: try await store.take(1, from: .mail)[0])
        #expect(try await states(store) == [.dead, .dead, .cancelled])
        bench.time.advance(by: .seconds(1))
        let letters = PruneRequest(queue: .mail, retention: Retention(age: nil, deadAge: .zero))
        #expect(try await store.prune(letters).messages == 1)
        _ = try await store.apply(.redrive, to: [a.sequence])
        #expect(try await store.drainDone() == ["a"])
        #expect(try await states(store) == [.done, .cancelled], "Nobody can do what it waits for any more.")
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .failed)
    }

    static func ended(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let names = ["done", "dead", "cancelled"]
        let started = try await store.begin(
            tasks: names.map { .of($0) }
                + [.of("callback", after: names.map { Dependency(on: .init(stored: $0), need: .ended) })])
        let held = try await store.take(2)
        _ = try await store.settle([
            Settlement(held[0].lease, .done), Settlement(held[1].lease, .dead(error: "bad")),
        ])
        #expect(try await states(store).last == .pending)
        _ = try await store.apply(.cancel, to: [started.receipts[2].sequence])
        #expect(try await store.drainDone() == ["callback"])
        #expect(try await states(store) == [.done, .dead, .cancelled, .done])
    }

    static func revives(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["b"]), ("d", ["b", "c"])])
        let a = try await store.work(.dead(error: "bad"))
        #expect(try await states(store) == [.dead, .cancelled, .cancelled, .cancelled])
        _ = try await store.apply(.redrive, to: [a])
        #expect(try await states(store) == [.ready, .pending, .pending, .pending])
        #expect(try await store.depths() == .of(pending: 3, ready: 1))
        let tasks = try await store.tasks(TaskQuery(.flow))
        #expect(tasks.flatMap(\.dependencies).allSatisfy { $0.state == .open })
        #expect(try await store.record(tasks[1].sequence).finishedAt == nil)
        for name in ["a", "b", "c", "d"] { #expect(try await store.drainDone() == [name]) }
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .done)
    }

    static func byHand(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", ["a"]), ("c", ["b"])])
        _ = try await store.apply(.cancel, to: [started.receipts[1].sequence])
        #expect(try await states(store) == [.ready, .cancelled, .cancelled])
        let a = try await store.work(.dead(error: "bad"))
        _ = try await store.apply(.redrive, to: [a])
        try await store.work(.done)
        #expect(try await states(store) == [.done, .cancelled, .cancelled])
        await expect(.illegalTransition) {
            try await store.apply(.redrive, to: [started.receipts[2].sequence])
        }
        try await store.begin([("x", []), ("y", ["x"])], "second")
        let pending = try await store.tasks(TaskQuery(.named("second"), name: .named("y"))).first
        await expect(.illegalTransition) { try await store.apply(.redrive, to: [try #require(pending).sequence]) }
    }

    static func twoParents(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", []), ("c", ["a", "b"])])
        let both = try await store.take(2)
        _ = try await store.settle(both.map { Settlement($0.lease, .dead(error: "bad")) })
        #expect(try await states(store) == [.dead, .dead, .cancelled])
        _ = try await store.apply(.redrive, to: [both[0].sequence])
        #expect(try await states(store) == [.ready, .dead, .cancelled])
        try await store.work(.done)
        #expect(try await states(store) == [.done, .dead, .cancelled])
        _ = try await store.apply(.redrive, to: [both[1].sequence])
        #expect(try await states(store) == [.done, .ready, .pending])
        try await store.work(.done)
        #expect(try await store.drainDone() == ["c"])
    }

    static func retries(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        for _ in 1...2 {
            try await store.work(.retry(error: "no"))
            #expect(try await states(store) == [.scheduled, .pending])
            bench.time.advance(by: .seconds(10))
        }
        try await store.work(.retry(error: "no"))
        #expect(try await states(store) == [.dead, .cancelled])
    }

    static func lost(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1))
        try await store.begin([("a", []), ("b", ["a"])])
        let doomed = try await bench.open()
        _ = try await doomed.takeOne()
        try await bench.crash(doomed)
        _ = try await store.reclaim()
        #expect(try await states(store) == [.dead, .cancelled])
    }

    static func deleted(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.begin(tasks: [
            .of("gone", queue: .mail), .of("dead"),
            .of("needs", after: [.init(on: .named("gone"))]), .of("after", after: [.init(on: .named("needs"))]),
            .of("ended", after: [.init(on: .named("gone"), need: .ended)]),
            .of("both", after: [.init(on: .named("gone")), .init(on: .named("dead"))]),
        ])
        let dead = try await store.work(.dead(error: "bad"))
        await expect(.illegalTransition) { try await store.configure(.mail, .delete(force: false)) }
        try await store.configure(.mail, .delete(force: true))
        _ = try await store.reclaim()
        let tasks = try await store.tasks(TaskQuery(.flow))
        #expect(tasks.map(\.name.text) == ["dead", "needs", "after", "ended", "both"])
        #expect(tasks.map(\.state) == [.dead, .cancelled, .cancelled, .ready, .cancelled])
        #expect(try await store.drainDone() == ["ended"])
        _ = try await store.apply(.redrive, to: [dead])
        #expect(try await store.drainDone() == ["dead"])
        #expect(try await states(store).last == .cancelled, "What it waited for can never be done.")
    }

    static func deletedAfterwards(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.begin(tasks: [
            .of("gone", queue: .mail), .of("other"),
            .of("both", after: [.init(on: .named("gone")), .init(on: .named("other"))]),
        ])
        #expect(try await store.drainDone(.mail) == ["gone"])
        try await store.configure(.mail, .delete(force: false))
        _ = try await store.reclaim()
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.state) == [.ready, .pending])
        #expect(try await store.drainDone() == ["other"])
        #expect(try await store.drainDone() == ["both"])
    }

    static func longChain(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let count = 3000
        try await store.begin((1...count).map { ("\($0)", $0 == 1 ? [] : ["\($0 - 1)"]) })
        func counts() async throws -> [MessageState: Int]? {
            _ = try await store.reclaim()
            return try await store.workflows(WorkflowQuery(name: .flow)).first?.counts
        }
        let head = try await store.work(.dead(error: "bad"))
        #expect(try await counts() == [.dead: 1, .cancelled: count - 1])
        _ = try await store.apply(.redrive, to: [head])
        #expect(try await counts() == [.ready: 1, .pending: count - 1])
    }

    static func cancelledTask(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        _ = try await store.apply(.cancel, to: [a.sequence])
        #expect(try await states(store) == [.cancelled, .cancelled])
        #expect(try await store.give(.done, for: a) == .leaseLost)
    }
}
