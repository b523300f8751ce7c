import PenstockCore
import PenstockTestKit
import Testing

/// What a workflow says of itself, gives, and leaves.
enum WorkflowLifeRules {
    static let cases: ConformanceCase.Rules = [
        "gives results to those that ask": results,
        "says where it is": states,
        "is cancelled whole": cancelled,
        "is kept until its last task has ended": kept,
        "is kept while it has a dead letter": keptForRedrive,
        "goes with its last dead letter": goesWithDeadLetters,
        "started again gives its first 10,000 receipts": manyReceipts,
    ]

    static func results(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", []), ("c", ["a", "b"])])
        let both = try await store.take(2)
        _ = try await store.settle([
            Settlement(both[0].lease, .done, result: Array("one".utf8)), Settlement(both[1].lease, .done),
        ])
        let tasks = try await store.tasks(TaskQuery(.flow, withResult: true))
        #expect(tasks.map(\.result) == [Array("one".utf8), nil, nil])
        #expect(try await store.tasks(TaskQuery(.flow)).allSatisfy { $0.result == nil })
        #expect(try await store.journal(of: started.receipts[0].sequence).result == Array("one".utf8))
        #expect(
            try await store.journal(of: started.receipts[2].sequence)
                == MessageJournal(task: TaskPlace(workflow: .flow, task: .named("c"))))
        // A message that is no task has a result as well.
        let c = try await store.takeOne()
        _ = try await store.settle([Settlement(c.lease, .done, result: [])])
        #expect(try await store.journal(of: c.sequence).result == [])
        let plain = try await store.put("plain")
        let held = try await store.takeOne()
        _ = try await store.settle([Settlement(held.lease, .done, result: [7])])
        #expect(try await store.journal(of: plain) == MessageJournal(result: [7]))
        await expect(.invalidInput) {
            try await store.settle([Settlement(held.lease, .release, result: [7])])
        }
        await expect(.invalidInput) {
            let bytes = [UInt8](repeating: 0, count: Limits.resultBytesMax + 1)
            return try await store.settle([Settlement(held.lease, .done, result: bytes)])
        }
    }

    static func states(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        func state() async throws -> WorkflowState? {
            try await store.workflows(WorkflowQuery(name: .flow)).first?.state
        }
        let start = bench.time.now
        try await store.begin(tasks: [
            .of("a"), .of("b", after: [.init(on: .named("a"), need: .done(whenDead: .hold))]),
        ])
        #expect(try await state() == .running)
        try await store.work(.dead(error: "bad"))
        #expect(try await state() == .held)
        let record = try await store.workflows(WorkflowQuery(name: .flow)).first
        #expect(record?.counts == [.dead: 1, .pending: 1] && record?.startedAt == start)
        _ = try await store.apply(.discard, to: .queue(.jobs, states: [.dead]))
        #expect(try await state() == .failed)
        try await store.begin([("a", [])], "second")
        try await store.work(.done)
        let both = try await store.workflows(WorkflowQuery())
        #expect(both.map(\.state) == [.failed, .done])
        #expect(try await store.workflows(WorkflowQuery(after: both.first?.id)).map(\.name.text) == ["second"])
        #expect(try await store.workflows(WorkflowQuery(limit: 1)).map(\.name) == [.flow])
        // From the end, and back.
        func last(_ limit: Int, after: Int64? = nil, preceding: Int64? = nil) async throws -> [String] {
            try await store.workflows(WorkflowQuery(after: after, preceding: preceding, end: .last, limit: limit))
                .map(\.name.text)
        }
        #expect(try await last(1) == ["second"])
        #expect(try await last(2) == [WorkflowName.flow.text, "second"])
        #expect(try await last(2, preceding: both.last?.id) == [WorkflowName.flow.text])
        #expect(try await last(2, after: both.first?.id, preceding: both.last?.id).isEmpty)
        #expect(try await store.workflows(WorkflowQuery(preceding: both.last?.id)).map(\.name) == [.flow])
        #expect(try await store.workflows(WorkflowQuery(name: .flow, preceding: both.first?.id)).isEmpty)
    }

    static func cancelled(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", []), ("c", ["a"]), ("d", ["c"]), ("e", ["b"])])
        let both = try await store.take(2)
        #expect(try await store.give(.done, for: both[0]) == .settled(.done))
        #expect(try await store.cancel(.flow) == 4)
        #expect(try await store.give(.release, for: both[1]) == .settled(.cancelled))
        for receipt in started.receipts.dropFirst() {
            let record = try await store.record(receipt.sequence)
            #expect(record.state == .cancelled && record.reason == .requested)
        }
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.cancel(.flow) == 0)
        let record = try await store.workflows(WorkflowQuery(name: .flow)).first
        #expect(record?.state == .cancelled && record?.cancelledAt == bench.time.now)
        await expect(.unknownWorkflow) { try await store.cancel(.named("nothing")) }
        // A dead letter that comes back runs, and the workflow says so.
        try await store.begin([("x", []), ("y", [])], "third")
        let x = try await store.work(.dead(error: "bad"))
        #expect(try await store.cancel(.named("third")) == 1)
        _ = try await store.apply(.redrive, to: [x])
        #expect(try await store.workflows(WorkflowQuery(name: .named("third"))).first?.state == .running)
        try await store.work(.done)
        #expect(try await store.workflows(WorkflowQuery(name: .named("third"))).first?.state == .cancelled)
        try await store.begin([("a", [])], "ended")
        try await store.work(.done)
        #expect(try await store.cancel(.named("ended")) == 0)
        #expect(try await store.workflows(WorkflowQuery(name: .named("ended"))).first?.state == .done)
    }

    static func kept(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", ["a"])])
        let everything = PruneRequest(retention: Retention(age: .zero, deadAge: .zero))
        try await store.work(.done)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.prune(everything).messages == 0)
        #expect(try await store.tasks(TaskQuery(.flow)).count == 2)
        try await store.work(.done)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.prune(everything).messages == 2)
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        await expect(.unknownWorkflow) { try await store.tasks(TaskQuery(.flow)) }
        await expect(.unknownMessage) { try await store.journal(of: started.receipts[0].sequence) }
        #expect(try await store.begin([("a", [])]).isNew, "Its name is free again.")
    }

    /// What a redrive brings back, and what that needs of others, is there as long as the dead letter is.
    static func keptForRedrive(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", []), ("c", ["a", "b"])])
        let both = try await store.take(2)
        _ = try await store.settle([
            Settlement(both[0].lease, .done, result: [7]), Settlement(both[1].lease, .dead(error: "bad")),
        ])
        bench.time.advance(by: .seconds(30 * 86_400))
        for retention in [Retention(), Retention(age: .zero), Retention(age: nil, count: 0)] {
            #expect(try await store.prune(PruneRequest(retention: retention)) == Pruned())
        }
        #expect(try await store.apply(.redrive, to: [both[1].sequence]) == 1)
        #expect(try await store.journal(of: both[0].sequence).result == [7])
        #expect(try await store.drainDone() == ["b"])
        #expect(try await store.drainDone() == ["c"])
        bench.time.advance(by: .seconds(1))
        #expect(try await store.prune(PruneRequest(retention: Retention(age: .zero))).messages == 3)
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
    }

    static func goesWithDeadLetters(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"]), ("c", []), ("d", [])])
        let three = try await store.take(3)
        _ = try await store.settle(three.prefix(2).map { Settlement($0.lease, .dead(error: "bad")) })
        bench.time.advance(by: .seconds(1))
        let everything = PruneRequest(retention: Retention(age: .zero, deadAge: .zero))
        #expect(try await store.prune(everything) == Pruned(), "One of its tasks runs.")
        #expect(try await store.give(.done, for: three[2]) == .settled(.done))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.prune(everything) == Pruned(messages: 2), "Dead letters do not keep each other.")
        #expect(try await store.prune(everything) == Pruned(messages: 2))
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
    }

    static func manyReceipts(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let tasks = [("a", [])] + (1...Limits.rowsMax).map { ("\($0)", ["a"]) }
        let started = try await store.begin(tasks)
        let again = try await store.begin(tasks)
        #expect(!again.isNew && again.receipts.allSatisfy(\.skipped))
        #expect(again.receipts.map(\.sequence) == started.receipts.prefix(Limits.rowsMax).map(\.sequence))
    }
}
