import PenstockCore
import PenstockTestKit
import Testing

/// How long messages waited and were worked.
enum LatencyRules {
    static let cases: ConformanceCase.Rules = [
        "counts how long messages were ready at each claim": wait,
        "counts how long messages were leased at each verdict": work,
        "counts nothing of work when a message is handed back": handedBack,
        "is of each queue by itself": byQueue,
        "is exact over processes, and after they die": overProcesses,
        "counts no verdict that changed nothing": lost,
    ]

    private static func latency(
        _ store: any MessageStore, _ queue: QueueName = .jobs
    ) async throws -> QueueLatency {
        try await store.queueStatus(queue).latency
    }

    private static func histogram(_ durations: Duration...) -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for duration in durations { histogram.record(duration) }
        return histogram
    }

    static func wait(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        #expect(try await latency(store) == QueueLatency())
        try await store.put([.text("a"), .text("b"), .text("later", due: .after(.seconds(10)))])
        bench.time.advance(by: .milliseconds(20))
        _ = try await store.take(1)
        bench.time.advance(by: .seconds(2))
        let second = try await store.takeOne()
        #expect(try await latency(store).wait == histogram(.milliseconds(20), .milliseconds(2020)))
        bench.time.advance(by: .milliseconds(8180))
        _ = try await store.take(1)
        #expect(
            try await latency(store).wait == histogram(.milliseconds(20), .milliseconds(2020), .milliseconds(200)),
            "From its due time on.")
        #expect(try await store.give(.retry(error: "e", after: .seconds(1)), for: second) == .settled(.scheduled))
        bench.time.advance(by: .milliseconds(1003))
        _ = try await store.take(1)
        #expect(
            try await latency(store).wait
                == histogram(.milliseconds(20), .milliseconds(2020), .milliseconds(200), .milliseconds(3)),
            "From the time on at which it was to be tried again.")
    }

    static func work(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...5).map { .text("\($0)") })
        let messages = try await store.take(5)
        let verdicts: [Verdict] = [
            .done, .done, .retry(error: "e"), .dead(error: "e"),
            .suspend(until: bench.time.now + .seconds(60), event: nil),
        ]
        var expected = LatencyHistogram()
        bench.time.advance(by: .milliseconds(50))
        _ = try await store.settle(messages.prefix(2).map { Settlement($0.lease, .done) })
        for _ in 1...2 { expected.record(.milliseconds(50)) }
        #expect(try await latency(store).work == expected)
        for (message, verdict) in zip(messages, verdicts).dropFirst(2) {
            bench.time.advance(by: .milliseconds(700))
            #expect(try await store.give(verdict, for: message) != .leaseLost)
            expected.record(bench.time.now - (messages[0].enqueuedAt))
            #expect(try await latency(store).work == expected, "\(verdict)")
        }
        #expect(expected.count == 5)
    }

    static func handedBack(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        try await store.put(["a", "b", "c"].map { .text($0) })
        let first = try await store.takeOne()
        _ = try await other.take(2)
        bench.time.advance(by: .seconds(7))
        #expect(try await store.give(.release, for: first) == .settled(.ready))
        try await other.close()
        #expect(try await store.queueStatus(.jobs).depths.ready == 3)
        #expect(try await latency(store).work.isEmpty)
        #expect(try await latency(store).wait.count == 3)
    }

    static func byQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.put("a")
        try await store.put("b", to: .mail)
        bench.time.advance(by: .seconds(1))
        _ = try await store.take(1)
        bench.time.advance(by: .seconds(1))
        try await store.work(.done, from: .mail)
        #expect(try await latency(store).wait == histogram(.seconds(1)))
        #expect(try await latency(store).work.isEmpty)
        #expect(try await latency(store, .mail).wait == histogram(.seconds(2)))
        #expect(try await latency(store, .mail).work == histogram(.zero))
        try await store.configure(.mail, .delete(force: true))
        try await store.configure(.mail, .create(.steady(), ifAbsent: false))
        #expect(try await latency(store, .mail) == QueueLatency(), "It is another queue.")
    }

    static func overProcesses(_ bench: Bench) async throws {
        let (first, second) = try await bench.openTwo(.steady())
        try await first.put((1...4).map { .text("\($0)") })
        bench.time.advance(by: .seconds(1))
        _ = try await first.take(1)
        let message = try await second.takeOne()
        bench.time.advance(by: .seconds(3))
        #expect(try await second.give(.done, for: message) == .settled(.done))
        try await bench.crash(first)
        _ = try await second.reclaim()
        let third = try await bench.open()
        #expect(try await latency(third).wait == histogram(.seconds(1), .seconds(1)))
        #expect(try await latency(third).work == histogram(.seconds(3)), "What became of the other one no worker said.")
    }

    static func lost(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let message = try await store.putAndTake("a")
        _ = try await store.apply(.cancel, to: [message.sequence])
        #expect(try await store.give(.done, for: message) == .leaseLost)
        #expect(try await latency(store).work.isEmpty)
        // A verdict whose drafts find no room takes nothing with it.
        try await store.configure(.mail, .create(.steady(1), ifAbsent: false))
        try await store.put("full", to: .mail)
        let other = try await store.putAndTake("b")
        let draft = Draft(.text("c"), to: .mail)
        await expect(.queueFull) { try await store.settle([Settlement(other.lease, .done, drafts: [draft])]) }
        #expect(try await latency(store).work.isEmpty)
    }
}
