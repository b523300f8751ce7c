import MetricsTestKit
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Each measurement under its documented name.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    let metrics = TestMetrics()
    let the: Fixture

    init() {
        the = Fixture(options: .init(metrics: metrics))
    }

    private func total(_ name: String) -> Int64 {
        metrics.counterTotal(label: "penstock.\(name)", dimensions: [("queue", "q")])
    }

    @Test func enqueuedSkippedAndDropped() async throws {
        let queue = try await the.queue(policy: .holding(3, .dropOldest))
        try await queue.enqueue(contentsOf: [1, 2, 3])
        try await queue.enqueue(4)
        #expect(total("enqueued") == 4)
        #expect(total("dropped") == 1)
        try await queue.enqueue(5, options: .init(uniqueKey: UniqueKey("k")))
        try await queue.enqueue(6, options: .init(uniqueKey: UniqueKey("k")))
        #expect(total("enqueued") == 5)
        #expect(total("skipped") == 1)
        #expect(total("dropped") == 2)
        // A replacement is no drop.
        let conflicts: [KeyConflict] = [.replace, .throttle, .debounce]
        for (count, conflict) in conflicts.enumerated() {
            try await queue.enqueue(
                7, options: .init(due: .after(.seconds(1)), uniqueKey: UniqueKey("k", onConflict: conflict)))
            #expect(total("enqueued") == 6 + Int64(count))
            #expect(total("dropped") == 2)
        }

        try await queue.setPolicy(.holding(3, .dropNewest))
        try await queue.enqueue(8)
        #expect(total("enqueued") == 9)
        #expect(total("dropped") == 3)
    }

    @Test func whatBecomesOfMessages() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(contentsOf: Array(1...5))
        the.time.advance(by: .milliseconds(20))
        try await Worker(queue, options: .init(drain: true)) { delivery in
            switch delivery.payload {
            case 1: return
            case 2: throw Reject("no")
            case 3: throw RetryAfter(.seconds(1), reason: "later")
            case 4: try await the.store.cancelNow([delivery.sequence])
            default: the.time.advance(by: .milliseconds(5))
            }
        }.run()
        #expect(total("claimed") == 5)
        #expect(total("done") == 2)
        #expect(total("dead") == 1)
        #expect(total("retried") == 1)
        #expect(total("lease_lost") == 1)
        let waits = try metrics.expectTimer("penstock.wait", [("queue", "q")])
        #expect(waits.values == [Int64](repeating: 20_000_000, count: 5))
        let work = try metrics.expectTimer("penstock.work", [("queue", "q")])
        #expect(work.values == [0, 0, 0, 0, 5_000_000])
        #expect(try metrics.expectMeter("penstock.running", [("queue", "q")]).values.suffix(2) == [1, 0])
    }

    @Test func givenBack() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var deliveries = queue.deliveries().makeAsyncIterator()
        try await deliveries.next()?.release()
        #expect(total("released") == 1)
        #expect(total("retried") == 0)
    }

    @Test func depthsWheneverSomebodyAsks() async throws {
        let queue = try await the.queue()
        let other = try await the.store.queue("other", of: Int.self)
        try await queue.enqueue(contentsOf: [1, 2])
        try await other.enqueue(1, options: .init(due: .after(.seconds(1))))
        func depth(_ queue: String, _ state: String) throws -> Double? {
            try metrics.expectRecorder("penstock.depth", [("queue", queue), ("state", state)]).lastValue
        }
        _ = try await queue.status()
        #expect(try depth("q", "ready") == 2)
        _ = try await the.store.queues()
        #expect(try depth("other", "scheduled") == 1)
        #expect(try depth("other", "ready") == 0)

        the.time.advance(by: .milliseconds(1500))
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try await deliveries.next()
        the.time.advance(by: .milliseconds(500))
        _ = try await the.store.queues()
        func age(_ name: String, _ queue: String) throws -> Double? {
            try metrics.expectRecorder("penstock.\(name)_age", [("queue", queue)]).lastValue
        }
        #expect(try age("ready", "q") == 2)
        #expect(try age("lease", "q") == 0.5)
        #expect(try age("ready", "other") == 1, "Since its due time.")
        #expect(try age("lease", "other") == 0)
        try await delivery?.done()
    }
}
