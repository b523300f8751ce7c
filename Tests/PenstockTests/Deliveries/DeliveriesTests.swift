import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

@Suite(.timeLimit(.minutes(5))) struct DeliveriesTests {
    let the = Fixture()

    private var claims: Tally { the.calls.calls(of: .claim) }

    /// The next delivery, awaited in a task of its own.
    private func reading<Element>(_ deliveries: Deliveries<Element>) -> Task<Delivery<Element>?, any Error> {
        Task {
            var iterator = deliveries.makeAsyncIterator()
            return try await iterator.next()
        }
    }

    // MARK: Demand

    @Test func nothingIsClaimedBeforeSomebodyAsks() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var iterator = queue.deliveries().makeAsyncIterator()
        #expect(claims.count == 0)
        #expect(try await iterator.next()?.payload == 1)
        #expect(claims.count == 1)
    }

    @Test func oneClaimTakesAsManyAsMayBeInFlight() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...5))
        var iterator = queue.deliveries(inFlightMax: 3).makeAsyncIterator()
        for number in 1...3 { #expect(try await iterator.next()?.payload == number) }
        #expect(claims.count == 1)
        #expect(try await queue.status().depths.leased == 3)
    }

    @Test func theNextClaimTakesWhatWasSettledMeanwhile() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...9))
        var iterator = queue.deliveries(inFlightMax: 3).makeAsyncIterator()
        var held: [Delivery<Int>] = []
        for _ in 1...3 { held.append(try #require(try await iterator.next())) }
        try await held[0].done()
        try await held[1].release()
        held.append(try #require(try await iterator.next()))
        #expect(claims.count == 2)
        #expect(try await queue.status().depths.leased == 3)
    }

    /// They were claimed together, and the first one took longer than their lease.
    @Test func whatHasEndedInTheReadersHandsIsNotHandedOut() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        var slow = queue.deliveries(inFlightMax: 3, lease: .seconds(60)).makeAsyncIterator()
        #expect(try await slow.next()?.payload == 1)
        the.time.advance(by: .seconds(61))
        var other = queue.deliveries(inFlightMax: 2, lease: .seconds(60)).makeAsyncIterator()
        let taken = [try await other.next(), try await other.next()]
        #expect(taken.map { $0?.payload } == [1, 2])
        let third = try await slow.next()
        #expect((third?.payload, third?.attempt) == (3, 2), "Its lease had ended, too.")
        try await third?.done()
        for delivery in taken { try await delivery?.done() }
        #expect(try await queue.status().totals.done == 3)
    }

    @Test func whileAllAreInFlightNothingIsClaimed() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2])
        let first = Mutex<Delivery<Int>?>(nil)
        let got = Tally()
        let reader = Task {
            for try await delivery in queue.deliveries() {
                first.withLock { $0 = $0 ?? delivery }
                if got.add() == 2 { return delivery.payload }
            }
            return 0
        }
        try await got.wait(for: 1)
        try await the.time.waitForSleepers()
        #expect(claims.count == 1)
        try await first.withLock { $0 }?.done()
        #expect(try await reader.value == 2)
    }

    @Test func aDeliveryThatWasLetGoHoldsItsPlaceUntilItsLeaseEnds() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2])
        let got = Tally()
        let reader = Task {
            for try await delivery in queue.deliveries(lease: .seconds(10)) where got.add() == 2 {
                return delivery.payload
            }
            return 0
        }
        try await got.wait(for: 1)
        try await the.time.waitForSleepers()
        #expect(claims.count == 1)
        the.time.advance(by: .seconds(10))
        // The first one is back, its attempt counted, and before the second by its sequence.
        #expect(try await reader.value == 1)
        #expect(try await queue.status().totals.reclaimed == 1)
    }

    @Test(arguments: [(0, Duration.seconds(30)), (10_001, .seconds(30)), (1, .zero), (1, .seconds(8 * 24 * 3600))])
    func aDemandThatCannotBeIsRefused(inFlightMax: Int, lease: Duration) async throws {
        let queue = try await the.queue()
        var iterator = queue.deliveries(inFlightMax: inFlightMax, lease: lease).makeAsyncIterator()
        let error = await #expect(throws: PenstockError.self) { try await iterator.next() }
        #expect(error?.code == .invalidInput)
    }

    // MARK: What comes, and when

    @Test func byPriorityAndThenBySequence() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2])
        try await queue.enqueue(contentsOf: [3, 4]) { _ in EnqueueOptions(priority: 5) }
        var iterator = queue.deliveries(inFlightMax: 9).makeAsyncIterator()
        for number in [3, 4, 1, 2] { #expect(try await iterator.next()?.payload == number) }
    }

    @Test func aDeliveryTellsWhatItIs() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1, options: .init(headers: ["a": "b"], priority: 3))
        let enqueuedAt = the.time.now
        var iterator = queue.deliveries().makeAsyncIterator()
        try await iterator.next()?.retry("again", after: .zero)
        the.time.advance(by: .seconds(1))
        let delivery = try #require(try await iterator.next())
        #expect(delivery.sequence == receipt.sequence)
        #expect(delivery.queue == queue.name)
        #expect(delivery.attempt == 2)
        #expect(delivery.enqueuedAt == enqueuedAt)
        #expect(delivery.headers == ["a": "b"])
        #expect(delivery.priority == 3)
        #expect(delivery.origin == nil)
    }

    @Test func aReaderWaitsForAMessage() async throws {
        let queue = try await the.queue()
        let reader = reading(queue.deliveries())
        try await the.time.waitForSleepers()
        try await queue.enqueue(1)
        #expect(try await reader.value?.payload == 1)
    }

    @Test func aMessageBetweenTheLookAndTheWaitIsNotMissed() async throws {
        let enqueued = Tally()
        let box = Mutex<Queue<Int>?>(nil)
        let the = Fixture {
            interrupted($0) { claim in
                guard claim.messages.isEmpty, enqueued.add() == 1 else { return }
                try await box.withLock { $0 }?.enqueue(1)
            }
        }
        let queue = try await the.queue()
        box.withLock { $0 = queue }
        // No hand of the clock moves, so only the ring can wake the reader.
        #expect(try await reading(queue.deliveries()).value?.payload == 1)
    }

    @Test func aScheduledMessageComesWhenItIsDue() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1, options: .init(due: .after(.milliseconds(100))))
        let reader = reading(queue.deliveries())
        try await the.time.waitForSleepers()
        #expect(the.time.nextDeadline == the.time.now + .milliseconds(100))
        the.time.advance(by: .milliseconds(100))
        #expect(try await reader.value?.payload == 1)
        #expect(claims.count == 2)
    }

    @Test(.inMemory) func aLookEveryQuarterOfASecondFindsWhatNoRingTold() async throws {
        let the = Fixture(silent)
        let queue = try await the.queue()
        let reader = reading(queue.deliveries())
        try await the.time.waitForSleepers()
        try await queue.enqueue(1)
        #expect(the.time.nextDeadline == the.time.now + .milliseconds(250))
        the.time.advance(by: .milliseconds(250))
        #expect(try await reader.value?.payload == 1)
    }

    // MARK: Lost work

    @Test(.inMemory) func theMessagesOfADeadProcessComeBack() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let other = the.database.open()
        _ = try await other.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(1000)))
        let reader = reading(queue.deliveries())
        try await the.time.waitForSleepers()
        try await the.database.crash(other)
        for _ in 1...2 {
            try await the.time.waitForSleepers()
            the.time.advanceToNextDeadline()
        }
        #expect(try await reader.value?.attempt == 2)
    }

    @Test(.inMemory) func allReadersOfAProcessTogetherLookForLostWorkTwiceASecond() async throws {
        let queue = try await the.queue()
        let readers = (1...3).map { _ in reading(queue.deliveries()) }
        for look in 1...8 {
            try await claims.wait(for: 3 * look)
            try await the.time.waitForSleepers(count: 3)
            the.time.advance(by: .milliseconds(250))
        }
        try await claims.wait(for: 27)
        #expect(the.calls.calls(of: .reclaim).count == 5)
        for reader in readers { reader.cancel() }
        for reader in readers { await #expect(throws: CancellationError.self) { try await reader.value } }
    }

    // MARK: Letting go

    @Test func whatWasNotHandedOutIsGivenBackWhenTheReaderIsCancelled() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let reader = Task {
            var iterator = queue.deliveries(inFlightMax: 3).makeAsyncIterator()
            let delivery = try await iterator.next()
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) { try await iterator.next() }
            return delivery
        }
        #expect(try await reader.value?.payload == 1)
        #expect(try await the.state(receipts[0]) == .leased)
        for receipt in receipts.dropFirst() {
            let record = try await the.record(receipt)
            #expect(record.state == .ready)
            #expect(record.attempt == 0)
        }
    }

    @Test func whatWasNotHandedOutIsGivenBackWhenTheIteratorIsLetGo() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        for try await _ in queue.deliveries(inFlightMax: 3) { break }
        await the.store.handle.backgroundTasks.finish()
        #expect(try await the.state(receipts[0]) == .leased)
        #expect(try await the.state(receipts[1]) == .ready)
        #expect(try await the.state(receipts[2]) == .ready)
    }

    @Test func cancellingAReaderThatWaitsLeavesNothingBehind() async throws {
        let queue = try await the.queue()
        let reader = reading(queue.deliveries())
        try await the.time.waitForSleepers()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(the.time.sleeperCount == 0)
        #expect(the.base.changes.waiterCount == 0)
    }

    @Test func theStoresErrorIsThrown() async throws {
        let queue = try await the.queue()
        the.calls.fail(.claim, with: PenstockError(.corrupt, "Damaged."))
        let error = await #expect(throws: PenstockError.self) { try await reading(queue.deliveries()).value }
        #expect(error?.code == .corrupt)
    }

    // MARK: Payloads that cannot be decoded

    @Test func whatCannotBeDecodedIsADeadLetterAndTheNextOneComes() async throws {
        let raw = try await the.store.queue("q")
        let bad = try await raw.enqueue(Array("no number".utf8))
        let queue = try await the.queue()
        try await queue.enqueue(7)
        var iterator = queue.deliveries().makeAsyncIterator()
        #expect(try await iterator.next()?.payload == 7)
        let record = try await the.record(bad)
        #expect(record.state == .dead)
        #expect(record.reason == .undecodable)
        #expect(record.attempts.map(\.outcome) == [.undecodable])
        #expect(record.attempts.first?.error.isEmpty == false)
    }

    @Test func whatCannotBeDecodedAndCannotBeSettledIsGivenBack() async throws {
        let raw = try await the.store.queue("q")
        let bad = try await raw.enqueue(Array("no number".utf8))
        let queue = try await the.queue()
        the.calls.fail(.settle, with: PenstockError(.corrupt, "Damaged."))
        let error = await #expect(throws: PenstockError.self) { try await reading(queue.deliveries()).value }
        #expect(error?.code == .corrupt)
        #expect(try await the.state(bad) == .ready)
    }
}
