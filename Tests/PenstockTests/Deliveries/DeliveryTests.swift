import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What can be done with a delivery, and when it can no longer be done.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    let the = Fixture()

    private func delivery(_ queue: Queue<Int>, lease: Duration = .seconds(30)) async throws -> Delivery<Int> {
        var iterator = queue.deliveries(lease: lease).makeAsyncIterator()
        return try #require(try await iterator.next())
    }

    @Test func done() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await delivery(queue).done()
        #expect(try await the.state(receipt) == .done)
    }

    @Test func retryAsThePolicySays() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        try await delivery(queue).retry("no luck")
        let record = try await the.record(receipt)
        #expect(record.due == the.time.now + .seconds(1))
        #expect(record.attempts.map(\.error) == ["no luck"])
        #expect(record.attempts.map(\.outcome) == [.failed])
    }

    @Test func retryAfterADelayOfOnesOwn() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await delivery(queue).retry("later", after: .seconds(99))
        #expect(try await the.record(receipt).due == the.time.now + .seconds(99))
    }

    @Test func reject() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await delivery(queue).reject("nonsense")
        let record = try await the.record(receipt)
        #expect(record.state == .dead)
        #expect(record.reason == .rejected)
        #expect(record.attempts.map(\.error) == ["nonsense"])
    }

    @Test func release() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await delivery(queue).release()
        let record = try await the.record(receipt)
        #expect(record.state == .ready)
        #expect(record.attempt == 0)
    }

    @Test func extend() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let delivery = try await delivery(queue, lease: .seconds(1))
        try await delivery.extend(by: .seconds(60))
        the.time.advance(by: .seconds(59))
        _ = try await the.base.reclaim()
        #expect(try await the.state(receipt) == .leased)
        the.time.advance(by: .seconds(1))
        _ = try await the.base.reclaim()
        #expect(try await the.state(receipt) == .ready)
    }

    @Test func anExtendedLeaseHoldsItsPlace() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2])
        var iterator = queue.deliveries(lease: .seconds(1)).makeAsyncIterator()
        let delivery = try #require(try await iterator.next())
        try await delivery.extend(by: .seconds(60))
        the.time.advance(by: .seconds(59))
        #expect(delivery.holder.inFlight.count() == 1)
        the.time.advance(by: .seconds(1))
        #expect(delivery.holder.inFlight.count() == 0)
    }

    @Test func whoLostTheLeaseIsTold() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let verdicts: [@Sendable (Delivery<Int>) async throws -> Void] = [
            { try await $0.done() }, { try await $0.retry("e") }, { try await $0.reject("e") },
            { try await $0.release() }, { try await $0.extend(by: .seconds(1)) },
        ]
        let delivery = try await delivery(queue)
        try await the.store.cancelNow([receipt.sequence])
        for verdict in verdicts {
            let error = await #expect(throws: PenstockError.self) { try await verdict(delivery) }
            #expect(error?.code == .leaseLost)
        }
        #expect(try await the.state(receipt) == .cancelled)
    }

    @Test func aLostLeaseHoldsNoPlace() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        var iterator = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await iterator.next())
        try await the.store.cancelNow([receipts[0].sequence])
        await #expect(throws: PenstockError.self) { try await delivery.done() }
        #expect(try await iterator.next()?.payload == 2)
    }

    @Test func aSecondVerdictIsTooLate() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let delivery = try await delivery(queue)
        try await delivery.done()
        let error = await #expect(throws: PenstockError.self) { try await delivery.done() }
        #expect(error?.code == .leaseLost)
    }

    @Test func aSettleThatFailedCanBeTriedAgain() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let delivery = try await delivery(queue)
        the.calls.fail(.settle, with: PenstockError(.busy, "Busy."))
        let error = await #expect(throws: PenstockError.self) { try await delivery.done() }
        #expect(error?.code == .busy)
        #expect(delivery.holder.inFlight.count() == 1)
        try await delivery.done()
        #expect(try await the.state(receipt) == .done)
    }

    @Test func aLeaseThatCannotBeIsRefused() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let delivery = try await delivery(queue)
        let error = await #expect(throws: PenstockError.self) { try await delivery.extend(by: .zero) }
        #expect(error?.code == .invalidInput)
    }
}
