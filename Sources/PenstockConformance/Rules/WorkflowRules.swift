import PenstockCore
import PenstockTestKit
import Testing

/// Messages that wait for other messages.
enum WorkflowRules {
    static let cases: ConformanceCase.Rules = [
        "a task begins after all that it waits for": order,
        "is started whole or not at all": wholeOrNot,
        "is started once by its name": once,
        "without a name is called after its first task": nameless,
        "those that wait take no room": room,
        "what finds no room when it starts follows the queue's policy": overflow,
        "a delay counts from the moment when nothing is waited for": delays,
        "tasks of several queues wait for each other": queues,
        "a claim after a verdict in the same call finds what was waited for": sameCall,
        "10,000 that wait for one": manyChildren,
        "one that waits for 2,000": manyParents,
        "checks its input": checksInput,
    ]

    static func order(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"])])
        #expect(started.isNew)
        #expect(started.receipts.map(\.state) == [.ready, .pending, .pending, .pending])
        #expect(try await store.depths() == .of(pending: 3, ready: 1))
        #expect(try await store.totals().enqueued == 4)
        #expect(try await store.drainDone() == ["a"])
        #expect(
            try await store.tasks(TaskQuery(.flow, name: .named("d"))).first?.dependencies.map(\.state) == [
                .open, .open,
            ])
        let both = try await store.take(10)
        #expect(both.map(\.text) == ["b", "c"])
        #expect(
            both.map(\.task) == [
                TaskPlace(workflow: .flow, task: .named("b")), TaskPlace(workflow: .flow, task: .named("c")),
            ])
        #expect(both.map(\.attempt) == [1, 1])
        _ = try await store.give(.retry(error: "no", after: .zero), for: both[0])
        #expect(try await store.give(.done, for: both[1]) == .settled(.done))
        #expect(try await store.state(of: started.receipts[3].sequence) == .pending)
        #expect(try await store.drainDone() == ["b"])
        #expect(try await store.drainDone() == ["d"])
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .done)
    }

    static func wholeOrNot(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .fail))
        await expect(.queueFull) { try await store.begin([("a", []), ("b", []), ("c", []), ("d", ["a"])]) }
        await expect(.unknownQueue) {
            try await store.begin(tasks: [.of("a"), .of("b", queue: .mail, after: [.init(on: .named("a"))])])
        }
        #expect(try await store.messages(MessageQuery()).isEmpty)
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        #expect(try await store.totals() == .of())
        #expect(try await store.begin([("a", []), ("b", []), ("d", ["a"])]).isNew)
    }

    static func once(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.begin([("a", []), ("b", ["a"])])
        try await store.work(.done)
        let again = try await store.start(
            NewWorkflow(.flow, tasks: [.of("other")]), durability: .powerLoss)
        #expect(!again.isNew && again.name == .flow)
        #expect(again.receipts.map(\.sequence) == first.receipts.map(\.sequence))
        #expect(again.receipts.map(\.state) == [.done, .ready])
        #expect(again.receipts.map(\.skipped) == [true, true])
        #expect(try await store.totals().enqueued == 2)
    }

    static func nameless(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("x")
        let named = try await store.start(
            NewWorkflow(.named("workflow-3"), tasks: [.of("a")]), durability: .processCrash)
        #expect(named.receipts.first?.sequence == SequenceNumber(2))
        let first = try await store.start(NewWorkflow(tasks: [.of("a")]), durability: .processCrash)
        #expect(first.isNew && first.name.text == "workflow-3-2")
        let second = try await store.start(NewWorkflow(tasks: [.of("a")]), durability: .processCrash)
        #expect(second.isNew && second.name.text == "workflow-4")
    }

    static func room(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .fail))
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"])])
        await expect(.queueFull) { try await store.put("x") }
        let a = try await store.takeOne()
        try await store.put("x")
        // What has been waited for comes in line whatever the capacity, like a message that comes back.
        #expect(try await store.give(.done, for: a) == .settled(.done))
        #expect(try await store.depths() == .of(pending: 1, ready: 3, kept: 1))
        await expect(.queueFull) { try await store.put("y") }
        // Of several queues without room the first by name is told.
        let others = try (1...5).reversed().map { try QueueName("full\($0)") }
        for queue in others { try await store.configure(queue, .create(.steady(1, .fail), ifAbsent: true)) }
        let tasks = others.flatMap { queue in ["a", "b"].map { NewTask.of("\($0)-\(queue)", queue: queue) } }
        let refusal = await #expect(throws: PenstockError.self) {
            try await store.start(NewWorkflow(.named("second"), tasks: tasks), durability: .processCrash)
        }
        #expect(refusal?.message.contains("'full1'") == true)
    }

    static func overflow(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .dropNewest))
        let dropped = try await store.begin([("a", []), ("b", []), ("c", ["b"]), ("d", ["a"])])
        #expect(dropped.receipts.map(\.state) == [.ready, .dropped, .cancelled, .pending])
        #expect(try await store.record(dropped.receipts[2].sequence).reason == .parentFailed)
        try await store.configure(.jobs, .set(.steady(1, .dropOldest)))
        let kept = try await store.start(
            NewWorkflow(.named("second"), tasks: [.of("e"), .of("f", after: [.init(on: .named("e"))])]),
            durability: .processCrash)
        #expect(kept.receipts.map(\.state) == [.ready, .pending])
        #expect(try await store.state(of: dropped.receipts[0].sequence) == .dropped)
        #expect(try await store.state(of: dropped.receipts[3].sequence) == .cancelled)
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .failed)
        try await store.configure(.jobs, .set(.steady(1, .wait)))
        await expect(.queueFull) {
            try await store.start(NewWorkflow(.named("third"), tasks: [.of("g")]), durability: .processCrash)
        }
    }

    static func delays(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        let started = try await store.begin(tasks: [
            .of("a"), .of("later", due: .after(.seconds(60)), after: [.init(on: .named("a"))]),
            .of("at", due: .at(start + .seconds(30)), after: [.init(on: .named("a"))]),
            .of("past", due: .at(start + .seconds(5)), after: [.init(on: .named("a"))]),
        ])
        #expect(try await store.record(started.receipts[1].sequence).due == nil)
        bench.time.advance(by: .seconds(10))
        try await store.work(.done)
        #expect(try await store.record(started.receipts[1].sequence).due == start + .seconds(70))
        #expect(try await store.record(started.receipts[2].sequence).due == start + .seconds(30))
        #expect(try await store.drainDone() == ["past"])
        bench.time.advance(by: .seconds(60))
        #expect(try await store.drainDone() == ["later", "at"])
    }

    static func queues(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        try await store.configure(.mail, .create(.steady(), ifAbsent: true))
        try await store.begin(tasks: [
            .of("a"), .of("b", queue: .mail, after: [.init(on: .named("a"))]),
            .of("c", after: [.init(on: .named("b"))]),
        ])
        let token = other.changes.token(for: .mail)
        try await store.work(.done)
        try await other.changes.waitForWork(in: .mail, after: token)
        #expect(try await other.drainDone(.mail) == ["b"])
        #expect(try await store.drainDone() == ["c"])
    }

    static func sameCall(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        #expect(try await store.give(.done, for: a, thenTake: 5).map(\.text) == ["b"])
    }

    static func manyChildren(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let count = 10_000
        try await store.begin(tasks: [.of("a")] + (1...count).map { .of("\($0)", after: [.init(on: .named("a"))]) })
        try await store.work(.done)
        var texts: [String] = []
        // What one transaction leaves is carried out by claims and by looks for lost work.
        for _ in 1...count where texts.count < count {
            _ = try await store.reclaim()
            texts += try await store.drainDone()
        }
        #expect(texts.count == count && Set(texts).count == count)
        let record = try await store.workflows(WorkflowQuery(name: .flow)).first
        #expect(record?.counts == [.done: count + 1])
    }

    static func manyParents(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let names = (1...2000).map { "\($0)" }
        try await store.begin(names.map { ($0, []) } + [("last", names)])
        #expect(try await store.drainDone().count == 2000)
        #expect(try await store.drainDone() == ["last"])
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        func refuses(_ tasks: [NewTask]) async {
            await expect(.invalidInput) {
                try await store.begin(tasks: tasks)
            }
        }
        await refuses([])
        await refuses([.of("a"), .of("a")])
        await refuses([.of("a", after: [.init(on: .named("a"))])])
        await refuses([.of("a", after: [.init(on: .named("b"))]), .of("b")])
        await refuses([.of("a"), .of("b", after: [.init(on: .named("a")), .init(on: .named("a"), need: .ended)])])
        await refuses([NewTask(.named("a"), queue: .jobs, message: .text("a", key: "k"))])
        await refuses([.of("a", due: .after(.seconds(-1)))])
        await refuses((0...Limits.taskCountMax).map { .of("\($0)") })
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        for limit in [0, Limits.rowsMax + 1] {
            await expect(.invalidInput) { try await store.workflows(WorkflowQuery(limit: limit)) }
            await expect(.invalidInput) { try await store.tasks(TaskQuery(.flow, limit: limit)) }
        }
        await expect(.unknownWorkflow) { try await store.workflows(WorkflowQuery(name: .flow)) }
        try await store.begin([("a", [])])
        await expect(.unknownTask) { try await store.tasks(TaskQuery(.flow, name: .named("b"))) }
    }
}
