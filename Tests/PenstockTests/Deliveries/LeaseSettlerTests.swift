import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What a stream keeps of the readers whose deliveries it works on.
@Suite(.timeLimit(.minutes(5))) struct LeaseSettlerTests {
    private let the = Fixture()
    private let settler = LeaseSettler<Int>()

    @Test func aKeeperEndsWithTheWorkOnWhatItsReaderGave() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2])
        var reader = queue.deliveries(lease: .seconds(30)).makeAsyncIterator()
        let first = try #require(try await reader.next())
        let begun = settler.begin(first)
        let keepLeases = try #require(begun.keepLeases)
        let keeping = Task { await keepLeases() }
        for count in 1...4 {
            try await the.time.waitForSleepers()
            the.time.advance(by: .seconds(10))
            try await the.calls.calls(of: .extend).wait(for: count)
        }
        try await the.time.waitForSleepers()
        _ = await settler.settle(first, .finished, of: begun.run)
        the.time.advance(by: .seconds(10))
        await keeping.value
        #expect(the.time.sleeperCount == 0)

        let second = try #require(try await reader.next())
        let hasAnother = settler.begin(second).keepLeases != nil
        #expect(hasAnother, "The next delivery of the reader has its lease extended as well.")
    }

    @Test func oneKeeperIsEnoughWhileAnyIsWorkedOn() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        var reader = queue.deliveries(inFlightMax: 3, lease: .seconds(30)).makeAsyncIterator()
        let first = try #require(try await reader.next())
        let begun = settler.begin(first)
        let keepLeases = try #require(begun.keepLeases)
        let keeping = Task { await keepLeases() }
        let second = try #require(try await reader.next())
        let other = settler.begin(second)
        let hasAnother = other.keepLeases != nil
        #expect(!hasAnother)
        _ = await settler.settle(first, .finished, of: begun.run)
        try await the.time.waitForSleepers()
        the.time.advance(by: .seconds(10))
        try await the.calls.calls(of: .extend).wait(for: 1)
        let third = try #require(try await reader.next())
        let hasThird = settler.begin(third).keepLeases != nil
        #expect(!hasThird, "The second is worked on, and its keeper goes on.")
        keeping.cancel()
        await keeping.value
    }

    /// It has waited in a buffer for most of its lease, say, and a third of that is more than it has left.
    @Test func aDeliveryThatCameLateIsExtendedAtOnce() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var reader = queue.deliveries(lease: .seconds(30)).makeAsyncIterator()
        let delivery = try #require(try await reader.next())
        the.time.advance(by: .seconds(25))
        let begun = settler.begin(delivery)
        let keepLeases = try #require(begun.keepLeases)
        let keeping = Task { await keepLeases() }
        try await the.calls.calls(of: .extend).wait(for: 1)
        try await the.time.waitForSleepers()
        the.time.advance(by: .seconds(9))
        #expect(try await the.base.reclaim() == Reclaimed())
        keeping.cancel()
        await keeping.value
    }
}
