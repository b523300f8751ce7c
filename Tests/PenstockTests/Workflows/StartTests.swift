import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Starts of workflows into queues that are full.
@Suite(.timeLimit(.minutes(5))) struct StartTests {
    let the = Fixture()

    private func workflow(_ name: String, _ count: Int, _ queues: Queue<Int>...) throws -> Workflow {
        var workflow = Workflow(name)
        for queue in queues { try workflow.add(queue.name.text, contentsOf: 1...count, to: queue) }
        return workflow
    }

    @Test func aStartWaitsForRoomForAllOfIt() async throws {
        let queue = try await the.queue(policy: .holding(2, .wait))
        try await queue.enqueue(contentsOf: [7, 8])
        let waiting = try workflow("w", 2, queue)
        let start = Task { [the] in try await the.store.start(waiting).isNew }
        try await the.calls.calls(of: .start).wait(for: 1)
        // One at a time: what is claimed ahead makes room too.
        var deliveries = queue.deliveries(inFlightMax: 1).makeAsyncIterator()
        let first = try #require(try await deliveries.next())
        try await first.done()
        try await the.calls.calls(of: .start).wait(for: 2)
        #expect(await the.code { _ = try await the.store.workflow("w") } == .unknownWorkflow)
        let second = try #require(try await deliveries.next())
        try await second.done()
        #expect(try await the.whileTimePasses { try await start.value })
    }

    /// Room comes when the store has refused the start, which does not listen yet. No clock moves.
    @Test func roomRightAfterTheRefusalIsHeardOf() async throws {
        let the = Fixture({ InterleavedStore($0) })
        let interleaved = try #require(the.calls.base as? InterleavedStore)
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(7)
        let other = try await the.otherProcess().queue("q", of: Int.self)
        // The first refusal says in which line to wait, and the second one comes at its head.
        interleaved.afterNext(.start) { _ in
            interleaved.afterNext(.start) { _ in _ = try await other.purge() }
        }
        let isNew = try await the.store.start(workflow("w", 1, queue)).isNew
        #expect(isNew)
        #expect(the.calls.calls(of: .start).count >= 3)
    }

    @Test func aStartGivesUpAfterItsTimeout() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(7)
        let waiting = try workflow("w", 1, queue)
        let start = Task { [the] in
            await the.code { try await the.store.start(waiting, timeout: .seconds(5)) }
        }
        try await the.calls.calls(of: .start).wait(for: 1)
        let code = try await the.whileTimePasses { await start.value }
        #expect(code == .timedOut)
        #expect(await the.code { _ = try await the.store.workflow("w") } == .unknownWorkflow)
    }

    @Test func aQueueThatFailsIsNotWaitedFor() async throws {
        let queue = try await the.queue(policy: .holding(1, .fail))
        let patient = try await the.store.queue("p", of: Int.self, policy: .holding(1, .wait))
        try await queue.enqueue(7)
        try await patient.enqueue(7)
        #expect(await the.code { try await the.store.start(workflow("w", 1, patient, queue)) } == .queueFull)
    }

    @Test func whatNeverFitsIsNotWaitedFor() async throws {
        let queue = try await the.queue(policy: .holding(2, .wait))
        #expect(await the.code { try await the.store.start(workflow("w", 3, queue)) } == .queueFull)
    }

    @Test func aTaskThatAddsTasksWaitsForRoomToo() async throws {
        let queue = try await the.queue()
        let full = try await the.store.queue("full", of: Int.self, policy: .holding(1, .wait))
        try await full.enqueue(7)
        var split = Workflow("w")
        try split.add("split", 0, to: queue)
        try await the.store.start(split)
        let worker = Task { [the] in
            try await the.drain(queue) { delivery in
                var more = Workflow()
                try more.add("part", 1, to: full)
                try await delivery.done(result: "all", adding: more)
            }
        }
        try await the.calls.calls(of: .settle).wait(for: 1)
        #expect(try await the.store.tasks(of: "w").map(\.state) == [.leased])
        try await full.purge()
        try await the.whileTimePasses { try await worker.value }
        #expect(try await the.store.tasks(of: "w").map(\.state) == [.done, .ready])
    }

    @Test func tasksThatWaitForOthersTakeNoRoom() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        var chain = Workflow("w")
        var last = try chain.add("t0", 0, to: queue)
        for number in 1...5 { last = try chain.add("t\(number)", number, to: queue, after: last) }
        try await the.store.start(chain)
        try await the.drain(queue) { _ in }
        #expect(try await the.store.workflow("w").state == .done)
    }

    @Test func aStartDoesNotOvertakeProducersThatWait() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(7)
        let producer = Task { try await queue.enqueue(8) }
        try await the.calls.calls(of: .enqueue).wait(for: 3)
        let waiting = try workflow("w", 1, queue)
        let start = Task { [the] in try await the.store.start(waiting) }
        let order = Mutex<[Int]>([])
        var deliveries = queue.deliveries().makeAsyncIterator()
        for _ in 1...3 {
            try await the.whileTimePasses { [queue] in
                try await eventually { try await queue.status().depths.ready > 0 }
            }
            let next = try #require(try await deliveries.next())
            order.withLock { $0.append(next.payload) }
            try await next.done()
        }
        _ = try await (producer.value, start.value)
        #expect(order.withLock { $0 } == [7, 8, 1])
    }
}
