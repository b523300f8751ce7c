import MetricsTestKit
import PenstockCore
import PenstockTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@testable import Penstock

/// What the store's errors do to a worker.
@Suite(.timeLimit(.minutes(5))) struct WorkerErrorTests {
    let the = Fixture()
    let scene = WorkerShutdownTests.Scene()

    @Test func whenClaimingFailsHandlersEndFirst() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        the.calls.fail(.claim, at: 2, with: PenstockError(.corrupt, "Damaged."))
        let worker = Task { [scene] in
            try await Worker(queue, options: .init(concurrency: 2)) { _ in try await scene.handle() }.run()
        }
        try await scene.begun.wait(for: 1)
        try await queue.enqueue(2)
        try await the.calls.calls(of: .claim).wait(for: 2)
        scene.gate.add()
        let error = await #expect(throws: PenstockError.self) { try await worker.value }
        #expect(error?.code == .corrupt)
        #expect(try await the.state(receipt) == .done)
    }

    /// One verdict that the store refuses spoils none of those that went with it.
    @Test func verdictsThatFailTogetherAreHandedInAlone() async throws {
        let the = Fixture { refusing($0, verdictOn: SequenceNumber(2)) }
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let run = WorkerRun(queues: [queue], options: .init()) { _ in }
        var claimLoop = ClaimLoop(run.holders)
        let messages = try await claimLoop.next(upTo: 3)
        try await run.settle(messages.map { HandlerSlots.Finished(claimed: HandlerSlots.Claimed($0), verdict: .done) })
        var states: [MessageState] = []
        for receipt in receipts { states.append(try await the.state(receipt)) }
        #expect(states == [.done, .leased, .done])
    }

    @Test func aVerdictThatTheStoreNeverTakesStopsNobody() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        // Together with a claim, and then alone.
        for call in 1...2 { the.calls.fail(.settle, at: call, with: PenstockError(.corrupt, "Damaged.")) }
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(try await the.state(receipts[0]) == .leased)
        #expect(try await the.state(receipts[1]) == .done)
        the.time.advance(by: .seconds(30))
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(try await the.state(receipts[0]) == .done)
    }

    // MARK: Failures that may pass

    static let passing: [PenstockError.Code] = [.busy, .diskFull, .storage, .outcomeUnknown]
    static let lasting: [PenstockError.Code] = [
        .fileReplaced, .closed, .newerSchema, .notADatabase, .corrupt, .readOnly, .unknownQueue, .invalidInput,
    ]

    /// What it waited for before had set an alarm, which calls in the middle of the pause.
    @Test func aPauseOutlivesAnEarlierAlarm() async throws {
        let run = WorkerRun(queues: [try await the.queue()], options: .init()) { _ in }
        run.alarm.set(to: the.time.boot + .milliseconds(10))
        try await the.time.waitForSleepers()
        let pause = Task { await run.pause(for: .milliseconds(50), wasStopping: false) }
        try await eventually { run.slots.isAwaited }
        the.time.advance(by: .milliseconds(10))
        try await the.time.waitForSleepers()
        the.time.advance(by: .milliseconds(60))
        await pause.value
    }

    @Test(arguments: [FaultyStore.Call.claim, .reclaim, .settle], passing)
    func aWorkerOutlivesAFailureThatMayPass(_ call: FaultyStore.Call, _ code: PenstockError.Code) async throws {
        let metrics = TestMetrics()
        let the = Fixture(options: .init(metrics: metrics))
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        for count in 1...4 { the.calls.fail(call, at: count, with: PenstockError(code, "It may pass.")) }
        let begun = Tally()
        try await the.whileTimePasses {
            try await Worker(queue, options: .init(max: 3)) { _ in begun.add() }.run()
        }
        #expect(begun.count == 3)
        for receipt in receipts { #expect(try await the.state(receipt) == .done) }
        #expect(metrics.counterTotal(label: "penstock.store_errors") > 0)
    }

    @Test(arguments: [FaultyStore.Call.claim, .reclaim], lasting)
    func aWorkerEndsForWhatCannotPass(_ call: FaultyStore.Call, _ code: PenstockError.Code) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        the.calls.fail(call, with: PenstockError(code, "It stays so."))
        let error = await #expect(throws: PenstockError.self) {
            try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        }
        #expect(error?.code == code)
    }

    /// Its supervisor starts it again, and it opens the store anew.
    @Test func aWorkerEndsForADiskThatKeepsNothing() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var failure = PenstockError(.storage, "The disk has reported an error.")
        failure.needsReopening = true
        the.calls.fail(every: [.reclaim], with: failure)
        let error = await #expect(throws: PenstockError.self) { try await Worker(queue) { _ in }.run() }
        #expect(error?.code == .storage)
    }

    @Test func aWorkerThatIsCancelledDoesNotWaitForTheStore() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        for count in 1...500 { the.calls.fail(.settle, at: count, with: PenstockError(.diskFull, "No room.")) }
        let worker = Task { try await Worker(queue) { _ in }.run() }
        try await the.calls.calls(of: .settle).wait(for: 1)
        worker.cancel()
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(try await the.state(receipt) == .leased)
    }

    @Test func aWorkerThatStopsWaitsForTheStoreAsLongAsForHandlers() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        for count in 1...500 { the.calls.fail(.settle, at: count, with: PenstockError(.busy, "Busy.")) }
        try await testGracefulShutdown { trigger in
            let worker = Task { try await Worker(queue, options: .init(grace: .seconds(5))) { _ in }.run() }
            try await the.calls.calls(of: .settle).wait(for: 1)
            trigger.triggerGracefulShutdown()
            try await the.whileTimePasses { try await worker.value }
        }
        #expect(try await the.state(receipt) == .leased)
        #expect(the.calls.calls(of: .settle).count < 100)
    }
}
