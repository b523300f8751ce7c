import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Workflows as programs put them together, and workers that carry them out.
@Suite(.timeLimit(.minutes(5))) struct WorkflowTests {
    let the = Fixture()

    // MARK: Putting together

    @Test func aTaskWaitsForTasksOfItsOwnWorkflowAlone() async throws {
        let queue = try await the.queue()
        var (one, other) = (Workflow("one"), Workflow("other"))
        let first = try one.add("first", 1, to: queue)
        try other.add("first", 1, to: queue)
        #expect(await the.code { try other.add("second", 2, to: queue, after: first) } == .invalidInput)
        // A copy is the same workflow, as far as it goes.
        let early = one
        let second = try one.add("second", 2, to: queue, after: first)
        var copy = early
        #expect(await the.code { try copy.add("third", 3, to: queue, after: second) } == .invalidInput)
        try copy.add("third", 3, to: queue, after: first)
        #expect(copy.tasks.map(\.name.text) == ["first", "third"])
    }

    @Test func whatCannotBeIsRefusedAndNothingIsAdded() async throws {
        let queue = try await the.queue()
        var workflow = Workflow()
        try workflow.add("a", 1, to: queue)
        let options = EnqueueOptions(uniqueKey: UniqueKey("k"))
        #expect(await the.code { try workflow.add("a", 1, to: queue) } == .invalidInput)
        #expect(await the.code { try workflow.add("", 1, to: queue) } == .invalidInput)
        #expect(await the.code { try workflow.add("b", 1, to: queue, options: options) } == .invalidInput)
        try workflow.add("part-2", 1, to: queue)
        #expect(await the.code { try workflow.add("part", contentsOf: [1, 2], to: queue) } == .invalidInput)
        #expect(workflow.tasks.map(\.name.text) == ["a", "part-2"])
        #expect(await the.code { try await the.store.start(Workflow(" ")) } == .invalidInput)
        #expect(await the.code { try await the.store.start(Workflow()) } == .invalidInput)
    }

    // MARK: Running

    @Test func tasksRunAfterThoseThatTheyWaitFor() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let split = try workflow.add("split", 0, to: queue)
        let parts = try workflow.add("part", contentsOf: 1...3, to: queue, after: split)
        try workflow.add("join", 9, to: queue, after: parts)
        let started = try await the.store.start(workflow)
        #expect(started.isNew && started[split]?.state == .ready && started[parts[0]]?.state == .pending)
        #expect(try await queue.status().depths.pending == 4)
        let ran = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in
            #expect(delivery.task?.workflow.text == "w")
            ran.withLock { $0.append(delivery.payload) }
        }
        #expect(ran.withLock { $0 } == [0, 1, 2, 3, 9])
        #expect(try await the.store.workflow("w").state == .done)
    }

    @Test func aWorkflowWithANameIsStartedOnce() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let task = try workflow.add("t", 1, to: queue)
        let first = try await the.store.start(workflow)
        try await the.drain(queue) { _ in }
        let again = try await the.store.start(workflow)
        #expect(!again.isNew && again.name == first.name)
        #expect(again[task]?.sequence == first[task]?.sequence)
        #expect(again[task]?.state == .done && again[task]?.skipped == true)
        #expect(try await queue.status().totals.enqueued == 1)
    }

    @Test func aTaskThatIsToComeAfterADeadOneIsCancelledHeldOrRuns() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let bad = try workflow.add("bad", 0, to: queue)
        try workflow.add("cancelled", 1, to: queue, after: bad)
        try workflow.add("held", 2, to: queue, after: .done(bad, whenDead: .hold))
        try workflow.add("runs", 3, to: queue, after: .ended(bad))
        try await the.store.start(workflow)
        let fails = Mutex(true)
        let seen = Mutex<[[MessageState]]>([])
        let work: Worker<Int>.Handler = { delivery in
            if delivery.payload == 0, fails.withLock({ $0 }) { throw Reject("no") }
            if delivery.payload == 3 {
                let states = try await delivery.dependencies().map(\.state)
                #expect(states == [.met])
                seen.withLock { $0.append([]) }
            }
        }
        try await the.drain(queue, work)
        #expect(try await the.store.tasks(of: "w").map(\.state) == [.dead, .cancelled, .pending, .done])
        #expect(try await the.store.workflow("w").state == .held)
        fails.withLock { $0 = false }
        try await queue.redriveAll()
        try await the.drain(queue, work)
        #expect(try await the.store.tasks(of: "w").map(\.state) == [.done, .done, .done, .done])
        #expect(seen.withLock { $0.count } == 1)
    }

    @Test func aCancelledWorkflowRunsNoMore() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let first = try workflow.add("first", 1, to: queue)
        try workflow.add("second", 2, to: queue, after: first)
        try await the.store.start(workflow)
        #expect(try await the.store.cancelWorkflow("w") == 2)
        #expect(try await the.store.cancelWorkflow("w") == 0)
        #expect(try await the.store.workflow("w").state == .cancelled)
        #expect(await the.code { try await the.store.cancelWorkflow("x") } == .unknownWorkflow)
        #expect(await the.code { _ = try await the.store.workflow("x") } == .unknownWorkflow)
    }
}
