import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

@Suite(.timeLimit(.minutes(5))) struct LogTests {
    let the = Fixture()

    private func payloads(_ log: LogSequence<Int>) async throws -> [Int] {
        var payloads: [Int] = []
        for try await entry in log { payloads.append(try entry.payload()) }
        return payloads
    }

    @Test func everythingInOrder() async throws {
        let queue = try await the.queue()
        let other = try await the.store.queue("other", of: Int.self)
        for number in 1...50 {
            try await queue.enqueue(number)
            try await other.enqueue(-number)
        }
        #expect(try await payloads(queue.log()) == Array(1...50))
        #expect(try await queue.status().depths.ready == 50)
    }

    @Test func anEmptyLogEnds() async throws {
        #expect(try await payloads(the.queue().log()).isEmpty)
    }

    @Test func fromANumberATimeOrTheLastFew() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...5))
        the.time.advance(by: .seconds(1))
        let moment = the.time.now
        try await queue.enqueue(contentsOf: Array(6...9))
        #expect(try await payloads(queue.log(from: SequenceNumber(4))) == Array(4...9))
        #expect(try await payloads(queue.log(from: SequenceNumber(.min))) == Array(1...9))
        #expect(try await payloads(queue.log(since: moment)) == Array(6...9))
        #expect(try await payloads(queue.log(last: 2)) == [8, 9])
        #expect(try await payloads(queue.log(last: 100)) == Array(1...9))
        #expect(try await payloads(queue.log(from: SequenceNumber(7), last: 5)) == Array(7...9))
    }

    @Test(arguments: [0, -1, 10_001])
    func aNumberOfLastOnesThatCannotBe(last: Int) async throws {
        let queue = try await the.queue()
        let error = await #expect(throws: PenstockError.self) { try await payloads(queue.log(last: last)) }
        #expect(error?.code == .invalidInput)
    }

    @Test func onlySomeStates() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...4))
        try await Worker(queue, options: .init(max: 3)) { delivery in
            if delivery.payload == 2 { throw Reject("no") }
        }.run()
        #expect(try await payloads(queue.log(states: [.done])) == [1, 3])
        #expect(try await payloads(queue.log(states: [.dead, .ready])) == [2, 4])
        var dead = queue.log(states: [.dead]).makeAsyncIterator()
        #expect(try await dead.next()?.record.attempts.map(\.error) == ["no"])
    }

    @Test func withoutFollowItEndsWhereTheLogEndedAtTheBeginning() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...30))
        var iterator = queue.log().makeAsyncIterator()
        var count = 0
        while try await iterator.next() != nil {
            count += 1
            try await queue.enqueue(0)
        }
        #expect(count == 30)
    }

    @Test func followGoesOnWithWhatIsAccepted() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        let seen = Mutex<[Int]>([])
        let count = Tally()
        let reader = Task {
            for try await entry in queue.log(last: 2, follow: true) {
                let payload = try entry.payload()
                seen.withLock { $0.append(payload) }
                count.add()
            }
        }
        try await count.wait(for: 2)
        for number in 4...6 {
            try await queue.enqueue(number)
            try await count.wait(for: number - 1)
        }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(seen.withLock { $0 } == Array(2...6))
        #expect(the.time.sleeperCount == 0)
        #expect(the.base.changes.waiterCount == 0)
    }

    /// Whatever comes after it: a message is given as it is when it is read, or not at all.
    @Test func whatIsInNoneOfTheStatesIsPassedOverForGood() async throws {
        let queue = try await the.queue()
        var pages = try await MessagePages(
            MessageQuery(queue: queue.name, states: [.done], withPayload: false), in: the.store.storage, endless: true)
        var deliveries = queue.deliveries().makeAsyncIterator()
        try await queue.enqueue(1)
        #expect(try await pages.next().isEmpty)
        try await deliveries.next()?.done()
        #expect(try await pages.next().isEmpty)
        let second = try await queue.enqueue(2)
        try await deliveries.next()?.done()
        #expect(try await pages.next().map(\.sequence) == [second.sequence])
    }

    @Test(.inMemory) func followFindsWhatNoRingTold() async throws {
        let the = Fixture(silent)
        let queue = try await the.queue()
        let reader = Task {
            for try await entry in queue.log(follow: true) { return try entry.payload() }
            return 0
        }
        try await the.time.waitForSleepers()
        try await queue.enqueue(1)
        the.time.advance(by: .milliseconds(250))
        #expect(try await reader.value == 1)
    }

    @Test func aPayloadThatCannotBeDecodedIsAnErrorOfItsEntryAlone() async throws {
        let raw = try await the.store.queue("q")
        try await raw.enqueue(Array("no number".utf8))
        try await raw.enqueue(Array("2".utf8))
        var iterator = try await the.queue().log().makeAsyncIterator()
        let bad = try #require(try await iterator.next())
        let error = #expect(throws: PenstockError.self) { try bad.payload() }
        #expect(error?.code == .undecodable)
        #expect(bad.record.payload == Array("no number".utf8))
        #expect(try await iterator.next()?.payload() == 2)
    }

    @Test func aPageIsBoundedInMessagesAndInBytes() async throws {
        let raw = try await the.store.queue("raw")
        for _ in 1...6 { try await raw.enqueue([[UInt8]](repeating: [1], count: 500).map { NewMessage(payload: $0) }) }
        let large = [UInt8](repeating: 0, count: 1024 * 1024)
        for _ in 1...60 { try await raw.enqueue(large) }
        let query = MessageQuery(queue: raw.name, withPayload: true)
        var pages = try await MessagePages(query, in: the.store.storage)
        var sizes: [Int] = []
        while case let page = try await pages.next(), !page.isEmpty {
            sizes.append(page.count)
            #expect(page.reduce(0) { $0 + $1.payloadBytes } <= Limits.logPageBytesMax)
        }
        #expect(sizes.reduce(0, +) == 3060)
        #expect(sizes.max() == 1000)

        var few = try await MessagePages(query, in: the.store.storage, limit: 7)
        #expect(try await few.next().count == 7)
        #expect(try await few.next().isEmpty)
    }
}
