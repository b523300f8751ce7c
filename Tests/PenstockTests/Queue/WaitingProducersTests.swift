import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Producers for full queues whose policy is `wait`.
@Suite(.timeLimit(.minutes(5))) struct WaitingProducersTests {
    let the = Fixture()

    private func lineCount(_ queue: Queue<Int>) -> Int {
        the.store.handle.lines.count(for: queue.name)
    }

    /// A producer that stands in line when this returns.
    private func waitingProducer(
        _ queue: Queue<Int>, _ elements: [Int], timeout: Duration? = nil
    ) async throws -> Task<[Receipt], any Error> {
        let before = lineCount(queue)
        let producer = Task { try await queue.enqueue(contentsOf: elements, timeout: timeout) }
        try await eventually { lineCount(queue) > before }
        return producer
    }

    private func take(_ queue: Queue<Int>, _ count: Int) async throws -> [Int] {
        var payloads: [Int] = []
        for try await delivery in queue.deliveries() {
            payloads.append(delivery.payload)
            try await delivery.done()
            if payloads.count == count { break }
        }
        return payloads
    }

    @Test func aProducerWaitsForRoom() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(1)
        let producer = try await waitingProducer(queue, [2])
        #expect(try await take(queue, 1) == [1])
        #expect(try await producer.value.count == 1)
        #expect(try await take(queue, 1) == [2])
        #expect(lineCount(queue) == 0)
    }

    /// Room comes when the store has refused the message, and its producer does not listen yet. No clock moves.
    @Test func roomRightAfterTheRefusalIsHeardOf() async throws {
        let the = Fixture({ InterleavedStore($0) })
        let interleaved = try #require(the.calls.base as? InterleavedStore)
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(1)
        let other = try await the.otherProcess().queue("q", of: Int.self)
        // The first refusal sends it to the line, and the second one comes at its head.
        interleaved.afterNext(.enqueue) { _ in
            interleaved.afterNext(.enqueue) { _ in _ = try await other.purge() }
        }
        let receipt = try await queue.enqueue(2)
        #expect(try await the.state(receipt) == .ready)
        #expect(the.calls.calls(of: .enqueue).count >= 4)
    }

    /// Nobody works the queue, so nobody else sees that there is room.
    @Test func aMessageThatExpiresMakesRoom() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(1, options: EnqueueOptions(expiry: .after(.seconds(2))))
        let producer = try await waitingProducer(queue, [2])
        try await the.time.waitForSleepers(count: 1)
        the.time.advance(by: .seconds(2))
        #expect(try await producer.value.count == 1)
        #expect(try await take(queue, 1) == [2])
    }

    @Test func aBatchGoesInBitByBitAndInOrder() async throws {
        let queue = try await the.queue(policy: .holding(2, .wait))
        let producer = try await waitingProducer(queue, Array(1...9))
        #expect(try await take(queue, 9) == Array(1...9))
        let receipts = try await producer.value
        #expect(receipts.map(\.sequence.rawValue) == Array(1...9))
    }

    @Test func whoWaitsLongestIsFirst() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        var producers: [Task<[Receipt], any Error>] = []
        for number in 1...5 { producers.append(try await waitingProducer(queue, [number])) }
        #expect(try await take(queue, 6) == Array(0...5))
        for producer in producers { _ = try await producer.value }
    }

    @Test func whoComesWhileOthersWaitDoesNotOvertake() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let first = try await waitingProducer(queue, [1, 2, 3])
        let offers = the.calls.calls(of: .enqueue).count
        let second = try await waitingProducer(queue, [4])
        #expect(the.calls.calls(of: .enqueue).count == offers)
        #expect(try await take(queue, 5) == Array(0...4))
        _ = try await (first.value, second.value)
    }

    @Test func otherQueuesAreNotHeldUp() async throws {
        let full = try await the.queue(policy: .holding(1, .wait))
        try await full.enqueue(0)
        let producer = try await waitingProducer(full, [1])
        let other = try await the.store.queue("other", of: Int.self, policy: .holding(1, .wait))
        try await other.enqueue(1)
        producer.cancel()
        await #expect(throws: CancellationError.self) { try await producer.value }
    }

    // MARK: Timeouts

    @Test func aTimeoutSaysHowManyWentIn() async throws {
        let queue = try await the.queue(policy: .holding(2, .wait))
        let producer = try await waitingProducer(queue, [1, 2, 3], timeout: .seconds(2))
        try await the.time.waitForSleepers(count: 2)
        the.time.advance(by: .seconds(2))
        let error = await #expect(throws: PenstockError.self) { try await producer.value }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("2 of 3 messages were enqueued") == true)
        #expect(error?.receipts.map(\.sequence.rawValue) == [1, 2])
        #expect(lineCount(queue) == 0)
        #expect(try await queue.status().depths.ready == 2)
    }

    /// Whatever ends the call, what went in before is in line, and its producer is told of it.
    @Test(arguments: [PenstockError.Code.busy, .outcomeUnknown])
    func anErrorAfterAFirstPartHasItsReceipts(code: PenstockError.Code) async throws {
        let queue = try await the.queue(policy: .holding(2, .wait))
        the.calls.fail(.enqueue, at: 2, with: PenstockError(code, "Another process holds the file."))
        let error = await #expect(throws: PenstockError.self) { try await queue.enqueue(contentsOf: [1, 2, 3]) }
        #expect(error?.code == code)
        #expect(error?.receipts.map(\.sequence.rawValue) == [1, 2])
        #expect(try await queue.status().depths.ready == 2)
    }

    @Test func aTimeoutAlsoEndsTheWaitInTheLine() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let first = try await waitingProducer(queue, [1])
        let second = try await waitingProducer(queue, [2], timeout: .seconds(1))
        let third = try await waitingProducer(queue, [3])
        try await the.time.waitForSleepers(count: 2)
        the.time.advance(by: .seconds(1))
        let error = await #expect(throws: PenstockError.self) { try await second.value }
        #expect(error?.code == .timedOut)
        #expect(try await take(queue, 3) == [0, 1, 3])
        _ = try await (first.value, third.value)
    }

    @Test func noPatienceAtAll() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0, timeout: .zero)
        let error = await #expect(throws: PenstockError.self) { try await queue.enqueue(1, timeout: .zero) }
        #expect(error?.code == .timedOut)
        #expect(lineCount(queue) == 0)
    }

    // MARK: Cancelling

    @Test func cancellingTheFirstLetsTheNextGoOn() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let first = try await waitingProducer(queue, [1])
        let second = try await waitingProducer(queue, [2])
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(lineCount(queue) == 1)
        #expect(try await take(queue, 2) == [0, 2])
        _ = try await second.value
        #expect(lineCount(queue) == 0)
    }

    @Test func cancellingOneInTheMiddleLeavesNoGap() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let producers = [
            try await waitingProducer(queue, [1]), try await waitingProducer(queue, [2]),
            try await waitingProducer(queue, [3]),
        ]
        producers[1].cancel()
        await #expect(throws: CancellationError.self) { try await producers[1].value }
        #expect(try await take(queue, 3) == [0, 1, 3])
        #expect(lineCount(queue) == 0)
    }

    @Test func theStoresErrorLeavesTheLineInOrder() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let first = try await waitingProducer(queue, [1])
        let second = try await waitingProducer(queue, [2])
        try await eventually { the.base.changes.waiterCount == 1 }
        the.calls.fail(.enqueue, with: PenstockError(.diskFull, "No room."))
        #expect(try await take(queue, 1) == [0])
        let error = await #expect(throws: PenstockError.self) { try await first.value }
        #expect(error?.code == .diskFull)
        _ = try await second.value
        #expect(lineCount(queue) == 0)
    }

    @Test(arguments: 1..<20)
    func aStormOfCancellations(seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let queue = try await the.queue(policy: .holding(2, .wait))
        let producers = (0..<30).map { number in
            Task { try await queue.enqueue(number) }
        }
        let cancelled = producers.indices.filter { _ in random.chance(0.4) }
        let consumer = Task {
            var payloads: [Int] = []
            for try await delivery in queue.deliveries() {
                payloads.append(delivery.payload)
                try await delivery.done()
            }
            return payloads
        }
        for index in cancelled {
            if random.chance(0.5) { await Task.yield() }
            producers[index].cancel()
        }
        var accepted = 0
        for producer in producers where (try? await producer.value) != nil { accepted += 1 }
        #expect(accepted >= producers.count - cancelled.count)
        try await eventually { try await queue.status().totals.done >= accepted }
        consumer.cancel()
        _ = await consumer.result
        #expect(lineCount(queue) == 0)
        #expect(the.base.changes.waiterCount == 0)
        #expect(the.time.sleeperCount == 0)
    }

    // MARK: Lost rings

    @Test func aLostRingCostsAQuarterOfASecond() async throws {
        let the = Fixture(silent)
        let queue = try await the.queue(policy: .holding(1, .wait))
        try await queue.enqueue(0)
        let producer = Task { try await queue.enqueue(1) }
        try await the.time.waitForSleepers()
        try await queue.purge()
        the.time.advance(by: .milliseconds(250))
        #expect(try await producer.value.state == .ready)
    }
}
