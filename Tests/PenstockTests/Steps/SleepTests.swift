import MetricsTestKit
import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Handlers that wait for a moment without a worker.
@Suite(.timeLimit(.minutes(5))) struct SleepTests {
    let metrics = TestMetrics()
    let the: Fixture

    init() {
        the = Fixture(options: .init(metrics: metrics))
    }

    @Test func aSleepHoldsNoWorkerAndCountsNoAttempt() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1, options: .init(attemptsMax: 1))
        let (runs, ends) = (Tally(), Tally())
        let work: Worker<Int>.Handler = { delivery in
            runs.add()
            #expect(delivery.attempt == 1)
            try await delivery.sleep("an hour", for: .seconds(3600))
            ends.add()
        }
        let begin = the.time.now
        try await the.drain(queue, work)
        let record = try await the.record(receipt)
        #expect((record.state, record.due, record.attempt) == (.scheduled, begin + .seconds(3600), 0))
        #expect(record.attempts.isEmpty)
        #expect(metrics.counterTotal(label: "penstock.suspended", dimensions: [("queue", "q")]) == 1)
        #expect(metrics.counterTotal(label: "penstock.retried", dimensions: [("queue", "q")]) == 0)

        the.time.advance(by: .seconds(1800))
        try await the.drain(queue, work)
        #expect(runs.count == 1)
        the.time.advance(by: .seconds(1800))
        try await the.drain(queue, work)
        #expect((runs.count, ends.count) == (2, 1))
        #expect(try await the.state(receipt) == .done)
    }

    @Test func theFirstDeadlineStays() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let work: Worker<Int>.Handler = { delivery in try await delivery.sleep("s", for: .seconds(100)) }
        let deadline = the.time.now + .seconds(100)
        try await the.drain(queue, work)
        the.time.advance(by: .seconds(40))
        // Somebody has no patience.
        try await the.store.redrive([receipt.sequence])
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == deadline)
    }

    @Test func aDeadlineThatHasPassedHoldsNobodyUp() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { [the] delivery in
            try await delivery.sleep("a", until: the.time.now)
            try await delivery.sleep("b", for: .zero)
            #expect(await the.code { try await delivery.sleep("c", for: .seconds(-1)) } == .invalidInput)
        }
        #expect(try await the.state(receipt) == .done)
    }

    @Test(arguments: [false, true])
    func aHandlerThatKeepsTheErrorToItselfIsOverAllTheSame(throwsAnother: Bool) async throws {
        struct Another: Error {}
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { delivery in
            try? await delivery.sleep("s", for: .seconds(100))
            await #expect(throws: Suspension.self) { try await delivery.step("after") { _ = taken.add() } }
            if throwsAnother { throw Another() }
        }
        let record = try await the.record(receipt)
        #expect((record.state, record.due) == (.scheduled, the.time.now + .seconds(100)))
        #expect(record.attempts.isEmpty && taken.count == 0)
    }

    @Test func aHandlerThatSettlesAllTheSameHasItsWay() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            try? await delivery.sleep("s", for: .seconds(100))
            try await delivery.done()
        }
        #expect(try await the.state(receipt) == .done)
    }

    @Test func whoSettlesDeliveriesSuspendsThem() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        for try await delivery in queue.deliveries() {
            let suspension = await #expect(throws: Suspension.self) { try await delivery.sleep("s", for: .seconds(9)) }
            try await delivery.suspend(try #require(suspension))
            break
        }
        #expect(try await the.record(receipt).due == the.time.now + .seconds(9))
    }

    @Test func anInnerSequenceMayWait() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let until = the.time.now + .seconds(50)
        let stream = queue.deliveries().flatMap(maxConcurrent: 1) { _ in
            AsyncThrowingStream(Int.self) { $0.finish(throwing: Suspension(until: until)) }
        }
        let reader = Task { for try await _ in stream {} }
        try await eventually { try await the.state(receipt) == .scheduled }
        reader.cancel()
        _ = await reader.result
        let record = try await the.record(receipt)
        #expect((record.due, record.attempt, record.attempts.count) == (until, 0, 0))
    }
}
