import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a pruning asks of the tasks of a workflow, by the pages that SQLite looks at.
@Suite(.timeLimit(.minutes(5))) struct RetentionCostTests {
    private let harness = SQLiteHarness()

    private func task(_ name: String, in queue: QueueName) -> NewTask {
        NewTask(TaskName(stored: name), queue: queue, message: .text(name))
    }

    @Test func oneDeadLetterKeepsTheRest() async throws {
        let store = try await harness.openStore()
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        }
        let many = (1...3000).map { task("\($0)", in: .mail) }
        let tasks = many + [task("kept", in: .jobs), task("dead", in: .jobs)]
        _ = try await store.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
        let others = try await store.take(3000, from: .mail)
        _ = try await store.settle(others.map { Settlement($0.lease, .done) })
        try await store.work(.done)
        try await store.work(.dead(error: "bad"))
        harness.time.advance(by: .seconds(1))
        let request = PruneRequest(queue: .jobs, retention: Retention(age: .zero))
        let pages = try await store.pages {
            let pruned = try await store.prune(request)
            #expect(pruned == Pruned())
        }
        #expect(pages < 3000, "Of 3,002 tasks two are asked for: \(pages) pages.")
        #expect(try await store.counts() == [.done: 3001, .dead: 1])
        try await store.close()
    }

    /// A worker's process prunes each minute, and dead letters may keep a million tasks for good.
    @Test func whatIsKeptIsLookedAtOnceAnHour() async throws {
        let store = try await harness.openStore()
        let policy = QueuePolicy(retention: Retention(age: .seconds(1)))
        for queue in [QueueName.jobs, .mail] { try await store.configure(queue, .create(policy, ifAbsent: true)) }
        let tasks = (1...1000).map { task("\($0)", in: .mail) } + [task("dead", in: .jobs)]
        _ = try await store.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
        let others = try await store.take(1000, from: .mail)
        _ = try await store.settle(others.map { Settlement($0.lease, .done) })
        try await store.work(.dead(error: "bad"))
        harness.time.advance(by: .seconds(10))
        var request = PruneRequest(limit: 10_000)
        request.passesKept = true
        var pages: [Int] = []
        for _ in 1...2 {
            let count = try await store.pages { [request] in
                let pruned = try await store.prune(request)
                #expect(pruned == Pruned())
            }
            pages.append(count)
        }
        #expect(pages[1] * 5 < pages[0], "\(pages)")
        _ = try await store.apply(.discard, to: .queue(.jobs, states: [.dead]))
        #expect(try await store.prune(request) == Pruned())
        harness.time.advance(by: .seconds(3600))
        #expect(try await store.prune(request) == Pruned(messages: 1001))
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        try await store.close()
    }

    /// A workflow may last longer than its queues keep messages. Its end lets them go with the next round, also those behind what a
    /// dead letter keeps.
    @Test func whatARunningWorkflowKeepsIsLookedAtEachTime() async throws {
        let store = try await harness.openStore()
        let policy = QueuePolicy(retention: Retention(age: .seconds(1)))
        for queue in [QueueName.jobs, .mail] { try await store.configure(queue, .create(policy, ifAbsent: true)) }
        for name in ["failed", "running"] {
            let tasks = [task("first", in: .mail), task("last", in: .jobs)]
            _ = try await store.start(
                NewWorkflow(WorkflowName(stored: name), tasks: tasks), durability: .processCrash)
            let first = try await store.take(1, from: .mail)
            _ = try await store.settle(first.map { Settlement($0.lease, .done) })
            harness.time.advance(by: .seconds(10))
            if name == "failed" { try await store.work(.dead(error: "bad")) }
        }
        var request = PruneRequest(limit: 10_000)
        request.passesKept = true
        for _ in 1...2 { #expect(try await store.prune(request) == Pruned()) }
        try await store.work(.done)
        harness.time.advance(by: .seconds(10))
        #expect(try await store.prune(request) == Pruned(messages: 2))
        #expect(try await store.workflows(WorkflowQuery()).map(\.name.text) == ["failed"])
        try await store.close()
    }
}
