import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// What becomes of messages in a worker's hands.
@Suite(.timeLimit(.minutes(5))) struct WorkerTests {
    let the = Fixture()

    struct Broken: Error {}

    // MARK: Verdicts

    @Test func aHandlerThatReturnsIsDone() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(5)
        let seen = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in seen.withLock { $0.append(delivery.payload) } }
        #expect(seen.withLock { $0 } == [5])
        #expect(try await the.state(receipt) == .done)
    }

    @Test func aHandlerThatThrowsIsTriedAgainByPolicy() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { _ in throw Broken() }
        let record = try await the.record(receipt)
        #expect(record.state == .scheduled)
        #expect(record.due == the.time.now + .seconds(1))
        #expect(record.attempts.map(\.error) == ["Broken()"])
        #expect(record.attempts.map(\.outcome) == [.failed])
    }

    @Test func attemptsUsedUpMakeADeadLetter() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1, options: .init(attemptsMax: 2))
        for _ in 1...2 {
            try await the.drain(queue) { _ in throw Broken() }
            the.time.advance(by: .seconds(10))
        }
        let record = try await the.record(receipt)
        #expect(record.state == .dead)
        #expect(record.reason == .attemptsExhausted)
        #expect(record.attempts.count == 2)
    }

    @Test func rejectIsADeadLetterAtOnce() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { _ in throw Reject("nonsense") }
        let record = try await the.record(receipt)
        #expect(record.state == .dead)
        #expect(record.reason == .rejected)
        #expect(record.attempts.map(\.error) == ["nonsense"])
    }

    @Test func retryAfterADelayOfTheHandlers() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { _ in throw RetryAfter(.seconds(77), reason: "full moon") }
        let record = try await the.record(receipt)
        #expect(record.due == the.time.now + .seconds(77))
        #expect(record.attempts.map(\.error) == ["full moon"])
    }

    /// The other end has asked to be left alone, and not for this message only.
    @Test(arguments: [true, false]) func aHandlerPutsOffItsGroup(byHand: Bool) async throws {
        let queue = try await the.queue(policy: QueuePolicy(groups: .limit(1)))
        let receipts = try await queue.enqueue(contentsOf: [1, 2]) { _ in .init(group: "a") }
        let seen = Tally()
        try await the.drain(queue) { delivery in
            seen.add()
            if byHand { return try await delivery.retry("429", after: .seconds(77), holdsGroup: true) }
            throw RetryAfter(.seconds(77), reason: "429", holdsGroup: true)
        }
        #expect(seen.count == 1)
        #expect(try await the.state(receipts[0]) == .scheduled)
        #expect(try await the.state(receipts[1]) == .blocked)
        let groups = try await the.base.groups(GroupQuery(queue: queue.name))
        #expect(groups.map(\.heldUntil) == [the.time.now + .seconds(77)])
    }

    @Test(arguments: [(Duration.seconds(-5), MessageState.ready), (.seconds(Int64.max), .scheduled)])
    func aDelayOutOfRangeIsHeldToTheRange(delay: Duration, state: MessageState) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue, options: .init(max: 1)) { _ in throw RetryAfter(delay, reason: "odd") }
        #expect(try await the.state(receipt) == state)
    }

    @Test func aHandlerMaySettleItself() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        try await the.drain(queue) { delivery in
            if delivery.payload == 1 { try await delivery.reject("by hand") } else { try await delivery.done() }
            throw Broken()
        }
        #expect(try await the.state(receipts[0]) == .dead)
        #expect(try await the.state(receipts[1]) == .done)
        #expect(the.calls.calls(of: .settle).count == 2)
    }

    @Test func aHandlerThatReturnsIsDoneThoughItHasCancelledItsOwnTask() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in withUnsafeCurrentTask { $0?.cancel() } }.run()
        #expect(try await the.state(receipt) == .done)
    }

    /// Given back uncounted, its message would be first in line again, for ever.
    @Test func aHandlerThatThrowsAfterItHasCancelledItsOwnTaskHasFailed() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in
            withUnsafeCurrentTask { $0?.cancel() }
            try Task.checkCancellation()
        }.run()
        #expect(try await the.state(receipt) == .scheduled)
    }

    @Test func whatCannotBeDecodedIsADeadLetterAndTheWorkerGoesOn() async throws {
        let raw = try await the.store.queue("q")
        let bad = try await raw.enqueue(Array("no number".utf8))
        let queue = try await the.queue()
        let good = try await queue.enqueue(1)
        try await the.drain(queue) { _ in }
        #expect(try await the.record(bad).reason == .undecodable)
        #expect(try await the.state(good) == .done)
    }

    // MARK: How many, and until when

    @Test func asManyHandlersAsAllowedRunAtOnce() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...20))
        let running = Mutex((now: 0, most: 0))
        let begun = Tally()
        let gate = Tally()
        let worker = Task {
            try await the.drain(queue, options: .init(concurrency: 4)) { _ in
                running.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                begun.add()
                try await gate.wait(for: 1)
                running.withLock { $0.now -= 1 }
            }
        }
        try await begun.wait(for: 4)
        #expect(try await queue.status().depths.leased == 4)
        gate.add()
        try await worker.value
        #expect(running.withLock { $0.most } == 4)
        #expect(try await queue.status().totals.done == 20)
    }

    @Test func theFirstClaimTakesAllThatMayRun() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...4))
        let begun = Tally()
        try await the.drain(queue, options: .init(concurrency: 4)) { _ in
            begun.add()
            try await begun.wait(for: 4)
        }
        // What ended while a call was under way went together with the next one.
        #expect((1...4).contains(the.calls.calls(of: .settle).count))
        #expect(begun.count == 4)
    }

    @Test func endsAfterAsManyAsAsked() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...10))
        try await Worker(queue, options: .init(concurrency: 4, max: 6)) { _ in }.run()
        let status = try await queue.status()
        #expect(status.totals.done == 6)
        #expect(status.depths.ready == 4)
        #expect(status.depths.leased == 0)
    }

    @Test func drainDoesNotWaitForWhatIsDueLater() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(1)
        try await queue.enqueue(2, options: .init(due: .after(.seconds(5))))
        try await the.drain(queue) { _ in throw Broken() }
        let status = try await queue.status()
        #expect(status.depths.scheduled == 2)
    }

    @Test func drainWorksWhatItsHandlersPutInLine() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(3)
        try await the.drain(queue) { delivery in
            if delivery.payload > 0 { try await queue.enqueue(delivery.payload - 1) }
        }
        #expect(try await queue.status().totals.done == 4)
    }

    @Test func drainOfAPausedQueueEnds() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        try await queue.pause()
        try await the.drain(queue) { _ in }
        #expect(try await queue.status().depths.ready == 1)
    }

    @Test func drainFindsTheMessagesOfADeadProcess() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let other = the.database.open()
        _ = try await other.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(1000)))
        try await the.database.crash(other)
        try await the.drain(queue) { _ in }
        #expect(try await the.state(receipt) == .done)
    }

    @Test func everyMessageOnceWithTwoWorkers() async throws {
        let queue = try await the.queue()
        let sameQueue = try await the.otherProcess().queue("q", of: Int.self)
        try await queue.enqueue(contentsOf: Array(0..<1000))
        let counts = Mutex([Int](repeating: 0, count: 1000))
        let handler: Worker<Int>.Handler = { delivery in
            counts.withLock { $0[delivery.payload] += 1 }
            await Task.yield()
        }
        async let one: Void = the.drain(queue, options: .init(concurrency: 4), handler)
        async let two: Void = the.drain(sameQueue, options: .init(concurrency: 4), handler)
        _ = try await (one, two)
        #expect(counts.withLock { $0 } == [Int](repeating: 1, count: 1000))
        #expect(try await queue.status().totals.done == 1000)
    }

    // MARK: Options

    @Test(arguments: [
        Worker<Int>.Options(concurrency: 0), .init(concurrency: 10_001), .init(lease: .zero), .init(timeout: .zero),
        .init(grace: .seconds(-1)), .init(max: 0),
    ])
    func optionsThatCannotBeAreRefused(options: Worker<Int>.Options) async throws {
        let queue = try await the.queue()
        let error = await #expect(throws: PenstockError.self) {
            try await Worker(queue, options: options) { _ in }.run()
        }
        #expect(error?.code == .invalidInput)
    }
}
