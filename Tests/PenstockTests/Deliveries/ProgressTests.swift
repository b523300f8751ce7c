import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// How far handlers say they have come.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    private let the = Fixture()

    private func claimed() async throws -> (Receipt, Delivery<Int>) {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        var deliveries = queue.deliveries().makeAsyncIterator()
        return (receipt, try #require(try await deliveries.next()))
    }

    private func progress(_ receipt: Receipt) async throws -> MessageProgress? {
        try await the.record(receipt).progress?.progress
    }

    @Test func theFirstWordIsWrittenAtOnceAndTheLastOneInASecond() async throws {
        let (receipt, delivery) = try await claimed()
        delivery.progress(0.1, "begun")
        try await eventually { try await progress(receipt) == MessageProgress(0.1, "begun") }
        try await the.time.waitForSleepers(count: 1)
        for number in 2...9 { delivery.progress(Double(number) / 10) }
        #expect(try await progress(receipt) == MessageProgress(0.1, "begun"), "A second has not passed.")
        let extensions = the.calls.calls(of: .extend).count
        the.time.advance(by: .seconds(1))
        try await eventually { try await progress(receipt) == MessageProgress(0.9) }
        #expect(the.calls.calls(of: .extend).count == extensions + 1)
        // Nothing is written where nothing is said.
        try await the.time.waitForSleepers(count: 1)
        the.time.advance(by: .seconds(1))
        delivery.progress("the last page")
        try await eventually { try await progress(receipt) == MessageProgress(nil, "the last page") }
        try await delivery.done()
        #expect(try await progress(receipt) == nil)
    }

    @Test func whatDoesNotFitIsMadeToFit() async throws {
        let (receipt, delivery) = try await claimed()
        delivery.progress(17, String(repeating: "ä", count: 200))
        try await eventually { try await progress(receipt) == MessageProgress(1, String(repeating: "ä", count: 100)) }
        #expect(MessageProgress(.nan).fitting == MessageProgress(nil))
        #expect(MessageProgress(-1).fitting == MessageProgress(0))
    }

    /// A store that takes nothing costs the handler nothing, and the next word is written.
    @Test func aFailureIsPassedOver() async throws {
        let (receipt, delivery) = try await claimed()
        the.calls.fail(.extend)
        delivery.progress(0.1)
        try await the.time.waitForSleepers(count: 1)
        delivery.progress(0.2)
        the.time.advance(by: .seconds(1))
        try await eventually { try await progress(receipt) == MessageProgress(0.2) }
    }
}
