import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Schedules as programs make them, and workers that carry them out.
@Suite(.timeLimit(.minutes(5))) struct ScheduleTests {
    let the = Fixture()

    @Test func aWorkerFiresSchedulesOfQueuesThatNobodyWorks() async throws {
        let left = try await the.store.queue("left", of: Int.self)
        try await left.schedule("counted", "* * * * *", 7)
        let worker = Task { [queue = try await the.queue()] in try await Worker(queue) { _ in }.run() }
        try await eventually {
            the.time.advance(by: .seconds(20))
            return try await left.status().totals.enqueued >= 3
        }
        worker.cancel()
        _ = await worker.result
        let record = try await the.store.schedule("counted")
        #expect(record.firings.allSatisfy { $0.outcome == .enqueued && $0.firedAt - $0.due <= .seconds(60) })
        for try await delivery in left.deliveries(inFlightMax: 1) {
            #expect(delivery.payload == 7)
            break
        }
    }

    /// What is a minute late was missed, so a call that fails is made again well before that.
    @Test func aFiringThatFailsAtFirstIsInTime() async throws {
        let left = try await the.store.queue("left", of: Int.self)
        let due = try #require(
            try await left.schedule("hourly", "0 * * * *", 7, options: .init(missed: .skip)).nextDue)
        let worker = Task { [queue = try await the.queue()] in try await Worker(queue) { _ in }.run() }
        try await the.time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
        for count in 1...3 {
            the.calls.fail(.fire, at: count, with: PenstockError(.busy, "Somebody else writes."))
        }
        the.time.advance(to: due)
        let record = try await the.whileTimePasses {
            try await eventually {
                let record = try await the.store.schedule("hourly")
                return record.firedCount + record.missedCount > 0
            }
            return try await the.store.schedule("hourly")
        }
        worker.cancel()
        _ = await worker.result
        let firing = try #require(record.firings.first)
        #expect(firing.due == due && firing.firedAt - due < .seconds(20))
        #expect(record.missedCount == 0)
    }

    @Test func aLongRoundOfPruningHoldsUpNoFiring() async throws {
        let gate = Tally()
        let the = Fixture { pruned($0, after: { try await gate.wait(for: 1) }) }
        let left = try await the.store.queue("left", of: Int.self)
        try await left.schedule("counted", "* * * * *", 7, options: .init(missed: .skip))
        let worker = Task { [queue = try await the.queue()] in try await Worker(queue) { _ in }.run() }
        try await the.calls.calls(of: .prune).wait(for: 1)
        try await eventually {
            the.time.advance(by: .seconds(20))
            return try await left.status().totals.enqueued >= 3
        }
        #expect(the.calls.calls(of: .prune).count == 1, "One round at a time.")
        gate.add()
        worker.cancel()
        _ = await worker.result
    }

    @Test func aStoreThatFailsToFireStopsNoWork() async throws {
        let queue = try await the.queue()
        the.calls.fail(.fire, with: PenstockError(.busy, "Somebody else writes."))
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in }.run()
        #expect(try await the.state(receipt) == .done)
    }

    @Test func whatIsSaidAgainChangesNothing() async throws {
        let queue = try await the.queue()
        let options = ScheduleOptions(
            message: EnqueueOptions(headers: ["a": "b"], priority: 3, uniqueKey: UniqueKey("k")), missed: .all,
            window: .seconds(60), jitter: .seconds(1), starts: the.time.now + .seconds(90))
        let first = try await queue.schedule("s", "@every 60s", 1, options: options)
        the.time.advance(by: .seconds(30))
        let again = try await queue.schedule("s", "@every 60s", 1, options: options)
        #expect(again.nextDue == first.nextDue && again.schedule == first.schedule)
        #expect(
            try await queue.schedule("s", "@every 60s", 2, options: options).schedule.message.payload
                != first.schedule.message.payload)
        #expect(try await the.store.schedules().map(\.name.text) == ["s"])
        await #expect(throws: PenstockError.self) { try await queue.schedule("t", "0 0 30 2 *", 1) }
        await #expect(throws: PenstockError.self) { try await queue.schedule("", "@daily", 1) }
    }

    @Test func aScheduleIsPausedRunAndRemoved() async throws {
        let queue = try await the.queue()
        try await queue.schedule("s", "@daily", 1)
        try await the.store.pauseSchedule("s")
        #expect(try await the.store.schedule("s").isPaused)
        #expect(try await the.store.runSchedule("s").firings.map(\.outcome) == [.byHand])
        try await the.store.resumeSchedule("s")
        #expect(try await the.store.schedule("s").nextDue != nil)
        try await the.store.removeSchedule("s")
        let error = await #expect(throws: PenstockError.self) { try await the.store.schedule("s") }
        #expect(error?.code == .unknownSchedule)
    }
}
