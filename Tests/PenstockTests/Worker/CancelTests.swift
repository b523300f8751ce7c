import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// Handlers whose messages are to be cancelled. No clock moves unless a test says so: what is asked of a worker reaches it by a ring.
@Suite(.timeLimit(.minutes(5))) struct CancelTests {
    private let the = Fixture()
    private let begun = Tally()

    /// A worker whose handler waits for its cancellation, and then does `then`.
    private func worker(
        _ queue: Queue<Int>, _ options: Worker<Int>.Options = .init(drain: true),
        then: @escaping @Sendable (Delivery<Int>) async throws -> Void
    ) -> Task<Void, any Error> {
        Task { [begun, the] in
            try await Worker(queue, options: options) { delivery in
                begun.add()
                // As long as nobody moves the clock, only a cancellation ends it.
                do { try await the.time.sleep(for: .seconds(1_000_000)) } catch { try await then(delivery) }
            }.run()
        }
    }

    @Test(arguments: [false, true])
    func aHandlerIsCancelledAndItsMessageToo(throwsAnother: Bool) async throws {
        struct Broken: Error {}
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let worker = worker(queue) { delivery in
            #expect(Task.isCancelled && delivery.isCancelRequested)
            if throwsAnother { throw Broken() }
            try Task.checkCancellation()
        }
        try await begun.wait(for: 1)
        #expect(try await the.otherProcess().cancel([receipt.sequence]) == 1)
        try await worker.value
        let record = try await the.record(receipt)
        #expect(record.state == .cancelled && record.reason == .requested && record.attempt == 1)
        #expect(record.attempts.map(\.error) == (throwsAnother ? ["Broken()"] : []))
    }

    /// The store has been asked how the leases stand when the second message is to be cancelled, and its answer does not say so.
    @Test func aNoticeDuringTheLookIsHeardToo() async throws {
        let the = Fixture({ InterleavedStore($0) })
        let interleaved = try #require(the.calls.base as? InterleavedStore)
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let worker = Task { [begun] in
            try await Worker(queue, options: .init(concurrency: 2, drain: true)) { _ in
                begun.add()
                try await the.time.sleep(for: .seconds(1_000_000))
            }.run()
        }
        try await begun.wait(for: 2)
        interleaved.afterNext(.extend) { _ in
            _ = try await the.otherProcess().cancel([receipts[1].sequence])
        }
        #expect(try await the.otherProcess().cancel([receipts[0].sequence]) == 1)
        try await worker.value
        for receipt in receipts { #expect(try await the.state(receipt) == .cancelled) }
    }

    /// Of a worker of several queues every one is heard.
    @Test(arguments: [false, true]) func aMessageOfTheSecondQueueIsCancelled(now: Bool) async throws {
        let first = try await the.queue()
        let second = try await the.store.queue("second", of: Int.self)
        let receipt = try await second.enqueue(1)
        let worker = Task { [begun, the] in
            try await Worker([first, second], options: .init(drain: true)) { _ in
                begun.add()
                try await the.time.sleep(for: .seconds(1_000_000))
            }.run()
        }
        try await begun.wait(for: 1)
        let store = the.otherProcess()
        let count = now ? try await store.cancelNow([receipt.sequence]) : try await store.cancel([receipt.sequence])
        #expect(count == 1)
        try await worker.value
        #expect(try await the.record(receipt).state == .cancelled)
    }

    @Test func aHandlerThatIsDoneAllTheSameHasDoneIt() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let worker = worker(queue, .init(concurrency: 2, drain: true)) { delivery in
            if delivery.payload == 2 { try await delivery.done(result: "half of it") }
        }
        try await begun.wait(for: 2)
        #expect(try await queue.cancelAll() == 2)
        try await worker.value
        for receipt in receipts { #expect(try await the.state(receipt) == .done) }
        #expect(try await the.store.journal(of: receipts[1].sequence).result == Array(#""half of it""#.utf8))
    }

    @Test func aHandlerThatDoesNotEndLosesItsMessage() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let (ends, gate) = (Tally(), Tally())
        let worker = Task { [begun] in
            try await Worker(queue, options: .init(lease: .seconds(9), drain: true)) { _ in
                await withTaskCancellationHandler {
                    begun.add()
                    try? await Task { try await gate.wait(for: 1) }.value
                } onCancel: {
                    ends.add()
                }
            }.run()
        }
        try await begun.wait(for: 1)
        #expect(try await the.store.cancel([receipt.sequence], within: .seconds(20)) == 1)
        try await ends.wait(for: 1)
        let end = the.time.now + .seconds(20)
        while the.time.now < end {
            #expect(try await the.state(receipt) == .leased)
            try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
            the.time.advance(by: .seconds(1))
            _ = try await the.base.reclaim()
        }
        #expect(try await the.state(receipt) == .cancelled)
        gate.add()
        try await worker.value
        let record = try await the.record(receipt)
        #expect(record.state == .cancelled && record.attempts.map(\.outcome) == [.leaseExpired])
    }

    /// Whoever does not hear the ring learns of it as the lease is extended.
    @Test func theNextExtensionSaysItToo() async throws {
        let the = Fixture(silent)
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let worker = Task { [begun] in
            try await Worker(queue, options: .init(lease: .seconds(9), drain: true)) { _ in
                begun.add()
                try await the.time.sleep(for: .seconds(1_000_000))
            }.run()
        }
        try await begun.wait(for: 1)
        #expect(try await the.otherProcess().cancel([receipt.sequence]) == 1)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        #expect(try await the.state(receipt) == .leased)
        the.time.advance(by: .seconds(3))
        try await worker.value
        #expect(try await the.state(receipt) == .cancelled)
    }

    /// A message that is claimed and has no place yet is never given to the handler.
    @Test func aMessageThatWaitsForItsHandlerIsNotWorked() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let claimed = try await the.base.claim(
            ClaimRequest(queue: queue.name, limit: 2, lease: .seconds(30)))
        #expect(try await queue.cancelAll() == 2)
        try await the.base.settle(claimed.messages.map { Settlement($0.lease, .release) }).forEach {
            #expect($0 == .settled(.cancelled))
        }
        try await the.drain(queue) { _ in Issue.record("It was cancelled.") }
        for receipt in receipts { #expect(try await the.state(receipt) == .cancelled) }
    }

    /// What is asked for between a claim and its answer reaches the handler all the same.
    @Test func aMessageIsAskedForBeforeTheWorkerKnowsThatItHasIt() async throws {
        let the = Fixture({ store in
            let (changes, bucket) = (store.changes, RingBucket.of(QueueName(stored: "q")))
            return interrupted(
                store,
                afterClaim: { claim in
                    guard !claim.messages.isEmpty else { return }
                    try await eventually { changes.hasSleepers(at: bucket, for: .notice) }
                    let before = changes.notices.lastRing(at: bucket)
                    _ = try await store.apply(.requestCancel(), to: .queue(QueueName("q"), states: [.leased]))
                    // The one who hears has heard, found nothing, and waits again.
                    try await eventually {
                        changes.notices.lastRing(at: bucket) != before && changes.hasSleepers(at: bucket, for: .notice)
                    }
                })
        })
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { _ in
            begun.add()
            try await the.time.sleep(for: .seconds(1_000_000))
        }
        #expect(try await the.state(receipt) == .cancelled)
    }

    @Test func aDeliveryLearnsOfItWithItsExtension() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        #expect(try await the.store.cancel([receipt.sequence]) == 1)
        try await delivery.extend(by: .seconds(60))
        #expect(delivery.isCancelRequested)
        try await delivery.retry("no")
        #expect(try await the.state(receipt) == .cancelled)
        #expect(!delivery.isCancelRequested, "Nothing is asked of it any more.")
    }

    /// What is cancelled at once reaches the worker at once as well.
    @Test func aHandlerWhoseMessageIsTakenAwayIsCancelledByARing() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let worker = worker(queue) { #expect(!$0.isCancelRequested) }
        try await begun.wait(for: 1)
        #expect(try await the.store.cancelNow([receipt.sequence]) == 1)
        try await worker.value
        #expect(try await the.state(receipt) == .cancelled)
    }

    /// A stream gives up the work, and goes on with the next message.
    @Test func aStreamGivesTheMessageUp() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let values = Task { [begun] in
            var values: [Int] = []
            let stream = queue.deliveries().flatMap(maxConcurrent: 1) { value in
                AsyncStream<Int> { stream in
                    begun.add()
                    if value == 2 { stream.yield(2) }
                }
            }
            for try await value in stream {
                values.append(value)
                break
            }
            return values
        }
        try await begun.wait(for: 1)
        try await eventually { try await the.state(receipts[0]) == .leased }
        #expect(try await the.otherProcess().cancel([receipts[0].sequence]) == 1)
        #expect(try await values.value == [2])
        #expect(try await the.state(receipts[0]) == .cancelled)
    }
}
