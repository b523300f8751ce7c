import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Deliveries that are let go unsettled: their messages come back when their leases end, and a reader of weeks keeps nothing of them.
@Suite(.timeLimit(.minutes(5))) struct LetGoTests {
    private let the = Fixture()

    @Test func aReaderThatIsAskedInAdvanceForgetsThem() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var reader = queue.deliveries(lease: .seconds(1)).makeAsyncIterator()
        var inFlight: InFlight?
        for attempt in 1...5 {
            reader.request(1)
            let delivery = try #require(try await reader.next())
            #expect(delivery.attempt == attempt)
            inFlight = delivery.holder.inFlight
            the.time.advance(by: .seconds(2))
        }
        let held = try #require(inFlight)
        #expect(held.leases.count == 1)
    }

    @Test func aDurableBufferForgetsThem() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var values = HandFedSource()
            .buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(1)).makeAsyncIterator()
        var inFlight: InFlight?
        for attempt in 1...5 {
            let delivery = try #require(try await values.next())
            #expect(delivery.attempt == attempt)
            inFlight = delivery.holder.inFlight
            the.time.advance(by: .seconds(2))
            _ = try await the.base.reclaim()
        }
        let held = try #require(inFlight)
        try await eventually { held.leases.count == 1 }
    }

    /// The store has said of a thousand that they are in line again.
    @Test func aDurableBufferAsksAboutMany() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...1100))
        var values = HandFedSource()
            .buffer(size: 2000, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(60))
            .makeAsyncIterator()
        for _ in 1...1100 { _ = try #require(try await values.next()) }
        the.time.advance(by: .seconds(61))
        _ = try await the.base.reclaim()
        let before = the.calls.calls(of: .extend).count
        _ = try #require(try await values.next())
        try await the.calls.calls(of: .extend).wait(for: before + 1)
    }
}
