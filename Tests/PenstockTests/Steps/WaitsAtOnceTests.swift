import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Handlers that wait for several things at once.
@Suite(.timeLimit(.minutes(5))) struct WaitsAtOnceTests {
    let the = Fixture()

    @Test(arguments: [[100, 50], [50, 100]])
    func theFirstOfTwoSleepsWakesTheHandler(seconds: [Int]) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let ends = Tally()
        let work: Worker<Int>.Handler = { delivery in
            async let one: Void = delivery.sleep("one", for: .seconds(seconds[0]))
            async let other: Void = delivery.sleep("other", for: .seconds(seconds[1]))
            _ = try await (one, other)
            ends.add()
        }
        let begin = the.time.now
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == begin + .seconds(50))
        the.time.advance(by: .seconds(50))
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == begin + .seconds(100))
        the.time.advance(by: .seconds(50))
        try await the.drain(queue, work)
        #expect(ends.count == 1)
        #expect(try await the.state(receipt) == .done)
    }

    /// One after the other here, so that each order is tried: at the same time, either may be first.
    @Test(arguments: [false, true])
    func anEventWakesWhoSleepsMeanwhile(sleepsFirst: Bool) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let got = Mutex<[String]>([])
        let work: Worker<Int>.Handler = { delivery in
            if sleepsFirst { try? await delivery.sleep("s", for: .seconds(100)) }
            if let word = try? await delivery.event("e", as: String.self) { got.withLock { $0.append(word) } }
            if !sleepsFirst { try? await delivery.sleep("s", for: .seconds(100)) }
        }
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == the.time.now + .seconds(100))
        #expect(try await the.store.journal(of: receipt.sequence).awaited == EventName("e"))
        try await the.store.emit("e", "word", to: .message(receipt.sequence))
        #expect(try await the.state(receipt) == .ready)
        try await the.drain(queue, work)
        #expect(got.withLock { $0 } == ["word"])
        #expect(try await the.state(receipt) == .scheduled)
        the.time.advance(by: .seconds(100))
        try await the.drain(queue, work)
        #expect(try await the.state(receipt) == .done)
    }

    @Test func twoEventsAtOnceAreRefusedAloud() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { [the] delivery in
            await #expect(throws: Suspension.self) { _ = try await delivery.event("a", as: Int.self) }
            #expect(await the.code { _ = try await delivery.event("b", as: Int.self) } == .invalidInput)
        }
        let record = try await the.record(receipt)
        #expect((record.state, record.attempts.count) == (.scheduled, 1))
        #expect(record.attempts.first?.error.contains("'a' and 'b' at once") == true)
    }

    @Test func whoSettlesByHandSuspendsForAllWaits() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        for try await delivery in queue.deliveries() {
            let suspension = await #expect(throws: Suspension.self) { try await delivery.sleep("s", for: .seconds(90)) }
            await #expect(throws: Suspension.self) { try await delivery.sleep("t", for: .seconds(9)) }
            try await delivery.suspend(try #require(suspension))
            break
        }
        #expect(try await the.record(receipt).due == the.time.now + .seconds(9))
    }
}
