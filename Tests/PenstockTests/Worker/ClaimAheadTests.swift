import PenstockCore
import PenstockTestKit
import ServiceLifecycleTestKit
import Synchronization
import Testing

@testable import Penstock

/// How much a worker claims that it cannot begin with yet, and what becomes of it.
@Suite(.timeLimit(.minutes(5))) struct ClaimAheadTests {
    let the = Fixture()

    // MARK: How much

    private func ahead(of work: [Duration], span: Duration = .milliseconds(2), concurrency: Int = 1) -> ClaimAhead {
        var ahead = ClaimAhead(span: span, concurrency: concurrency)
        for work in work { ahead.record(work) }
        return ahead
    }

    private func same(_ work: Duration) -> [Duration] { Array(repeating: work, count: 100) }

    @Test func isAsManyAsAreWorkedInTheSpan() {
        #expect(ahead(of: same(.microseconds(100))).count == 20)
        #expect(ahead(of: same(.microseconds(100)), concurrency: 4).count == 80)
        #expect(ahead(of: same(.microseconds(100)), span: .milliseconds(4)).count == 40)
        #expect(ahead(of: same(.milliseconds(2))).count == 1)
        #expect(ahead(of: same(.milliseconds(3))).count == 0)
        #expect(ahead(of: same(.milliseconds(3)), concurrency: 2).count == 1)
        #expect(ahead(of: same(.microseconds(1)), span: .zero).count == 0)
    }

    @Test func isNothingBeforeHandlersAreKnown() {
        var ahead = ahead(of: Array(repeating: .microseconds(1), count: 15))
        #expect(ahead.count == 0)
        ahead.record(.microseconds(1))
        #expect(ahead.count > 0)
        ahead.forget()
        #expect(ahead.count == 0)
    }

    @Test func hasABoundHoweverFastHandlersAre() {
        #expect(ahead(of: same(.zero), concurrency: 1000).count == ClaimAhead.countMax)
        #expect(ahead(of: same(.zero), span: .seconds(1)).count == ClaimAhead.countMax)
    }

    @Test func followsHandlersThatBecomeSlow() {
        var ahead = ahead(of: same(.microseconds(10)))
        #expect(ahead.count == 200)
        ahead.record(.milliseconds(50))
        #expect(ahead.count == 0)
    }

    /// One message always waits, so the line of those that wait is never empty.
    @Test func aMessageThatHasLeftIsNotKept() {
        let slots = HandlerSlots(concurrency: 1, ahead: .milliseconds(2))
        let now = the.time.boot
        weak var first: HandlerSlots.Claimed?
        func claimed() -> HandlerSlots.Claimed {
            HandlerSlots.Claimed(
                ClaimedMessage(
                    lease: Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1)), attempt: 1,
                    enqueuedAt: Timestamp(microseconds: 0), priority: 0, headers: [:], payload: [], origin: nil))
        }
        do {
            let one = claimed()
            first = one
            _ = slots.begin([one, claimed(), claimed()], at: now)
        }
        #expect(first == nil)
        for _ in 1...3 {
            _ = slots.leave(after: .zero)
            _ = slots.begin([claimed()], at: now)
        }
        #expect(slots.take(at: now, wantsAll: true).waitingCount == 2)
    }

    // MARK: In a worker

    /// Handlers that take no time, but for one: it waits for the gate.
    private final class Scene: Sendable {
        let seen = Mutex<[Int]>([])
        let blocked = Tally()
        let gate = Tally()
        let blockedAt: Int

        init(blockedAt: Int) { self.blockedAt = blockedAt }

        func handle(_ delivery: Delivery<Int>) async throws {
            seen.withLock { $0.append(delivery.payload) }
            if delivery.payload == blockedAt {
                blocked.add()
                try await gate.wait(for: 1)
            }
        }
    }

    private let scene = Scene(blockedAt: 40)

    private func leasedCount() async throws -> Int {
        try await the.store.queues()[0].depths.leased
    }

    /// A worker with messages 1 to `last` before it whose handler is stuck at the 40th.
    private func begin(
        _ options: Worker<Int>.Options, last: Int = 300, policy: QueuePolicy? = nil
    ) async throws -> (queue: Queue<Int>, worker: Task<Void, any Error>) {
        let queue = try await the.queue(policy: policy)
        _ = try await queue.enqueue(contentsOf: Array(1...last))
        let worker = Task { [scene] in
            try await Worker(queue, options: options) { try await scene.handle($0) }.run()
        }
        try await scene.blocked.wait(for: 1)
        return (queue, worker)
    }

    @Test func fastHandlersShareCallsOfTheStore() async throws {
        let (_, worker) = try await begin(.init(drain: true))
        scene.gate.add()
        try await worker.value
        #expect(scene.seen.withLock { $0 } == Array(1...300))
        #expect(the.calls.calls(of: .claim).count < 150)
    }

    @Test func noClaimIsLargerThanAStoreTakes() async throws {
        let queue = try await the.queue()
        for start in [0, 8000, 16000] { _ = try await queue.enqueue(contentsOf: Array(start..<start + 8000)) }
        let seen = Tally()
        let options = Worker<Int>.Options(concurrency: Limits.batchCountMax, drain: true)
        try await Worker(queue, options: options) { _ in seen.add() }.run()
        #expect(seen.count == 24000)
    }

    @Test func nothingIsClaimedAheadIfNobodyWantsIt() async throws {
        let (_, worker) = try await begin(.init(ahead: .zero, drain: true))
        #expect(try await leasedCount() == 1)
        scene.gate.add()
        try await worker.value
        #expect(the.calls.calls(of: .claim).count >= 300)
    }

    /// What waited here for a handler would have a place that another worker could use.
    @Test(arguments: [QueuePolicy(groups: .limit(9)), QueuePolicy(limit: 300)])
    func nothingIsClaimedAheadWhereSomethingCountsLeases(policy: QueuePolicy) async throws {
        let (_, worker) = try await begin(.init(drain: true), policy: policy)
        #expect(try await leasedCount() == 1)
        scene.gate.add()
        try await worker.value
        #expect(scene.seen.withLock { $0 } == Array(1...300))
        #expect(the.calls.calls(of: .claim).count >= 300)
    }

    /// Also when there are fewer messages than the worker wants, which then waits for more.
    @Test(arguments: [300, 60])
    func whatWaitsTooLongIsGivenBack(_ count: Int) async throws {
        let (_, worker) = try await begin(.init(drain: true), last: count)
        try await eventually { try await leasedCount() > 1 }
        // Its alarm sleeps.
        try await eventually { the.time.nextDeadline == the.time.now + .milliseconds(20) }
        the.time.advance(by: .milliseconds(19))
        #expect(try await leasedCount() > 1)
        the.time.advance(by: .milliseconds(1))
        try await eventually { try await leasedCount() == 1 }
        scene.gate.add()
        try await worker.value
        #expect(scene.seen.withLock { $0 } == Array(1...count), "In their order, and each once.")
        #expect(try await the.store.list(MessageQuery(limit: count)).allSatisfy { $0.attempt == 1 })
    }

    @Test func whatWaitsIsGivenBackWhenTheWorkerStops() async throws {
        let queue = try await the.queue()
        _ = try await queue.enqueue(contentsOf: Array(1...300))
        try await testGracefulShutdown { trigger in
            let worker = Task { [scene] in try await Worker(queue) { try await scene.handle($0) }.run() }
            try await scene.blocked.wait(for: 1)
            try await eventually { try await leasedCount() > 1 }
            trigger.triggerGracefulShutdown()
            try await eventually { try await leasedCount() == 1 }
            scene.gate.add()
            try await worker.value
        }
        #expect(scene.seen.withLock { $0 } == Array(1...40))
        #expect(try await the.store.queues()[0].depths.ready == 260)
    }

    @Test func nothingIsHeldWhenTheWorkerIsCancelled() async throws {
        let (_, worker) = try await begin(.init())
        worker.cancel()
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(try await the.store.queues()[0].depths.ready == 261)
    }

    @Test func noMoreAreWorkedThanWereAskedFor() async throws {
        let (_, worker) = try await begin(.init(max: 50))
        scene.gate.add()
        try await worker.value
        #expect(scene.seen.withLock { $0 } == Array(1...50))
        #expect(try await the.store.queues()[0].depths.ready == 250)
    }

    @Test func aMessageWhoseLeaseIsLostWhileItWaitsIsNotWorked() async throws {
        let (_, worker) = try await begin(.init(ahead: .seconds(1), lease: .seconds(6), drain: true))
        try await eventually { try await leasedCount() > 1 }
        let cancelled = try await the.store.cancelNow([SequenceNumber(41), SequenceNumber(43)])
        #expect(cancelled == 2)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        let extended = the.calls.calls(of: .extend).count
        the.time.advance(by: .seconds(2))
        try await the.calls.calls(of: .extend).wait(for: extended + 1)
        // The keeper sleeps again once it has looked at the answer.
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        scene.gate.add()
        try await worker.value
        #expect(scene.seen.withLock { $0 } == Array(1...300).filter { $0 != 41 && $0 != 43 })
    }

    @Test(arguments: [Duration.milliseconds(-1), .milliseconds(1001)])
    func theSpanIsChecked(_ span: Duration) async throws {
        let queue = try await the.queue()
        await #expect(throws: PenstockError.self) {
            try await Worker(queue, options: .init(ahead: span)) { _ in }.run()
        }
    }
}
