import PenstockCore
import PenstockTestKit
import Testing

/// What the numbers say after each event.
enum StatusRules {
    static let cases: ConformanceCase.Rules = [
        "depths and totals follow every event": followsEveryEvent,
        "lists queues by name, or the one asked for": listsQueues,
        "lists who holds messages": listsWorkers,
    ]

    static func followsEveryEvent(_ bench: Bench) async throws {
        let (store, worker) = try await bench.openTwo(.steady(5, .dropOldest, attemptsMax: 2))
        func expectStatus(
            _ depths: Depths, _ totals: Totals, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let status = try await store.queueStatus()
            #expect(status.depths == depths, sourceLocation: sourceLocation)
            #expect(status.totals == totals, sourceLocation: sourceLocation)
        }

        try await expectStatus(.of(), .of())
        try await store.put([.text("1"), .text("2", key: "k"), .text("3"), .text("4", due: .after(.seconds(1)))])
        try await expectStatus(.of(scheduled: 1, ready: 3), .of(enqueued: 4))
        try await store.put(.text("skipped", key: "k"))
        try await expectStatus(.of(scheduled: 1, ready: 3), .of(enqueued: 4))
        try await store.put(.text("2b", key: "k", onConflict: .replace))
        try await expectStatus(.of(scheduled: 1, ready: 3, kept: 1), .of(enqueued: 5, cancelled: 1))
        try await store.put([.text("5"), .text("6")])
        try await expectStatus(.of(scheduled: 1, ready: 4, kept: 2), .of(enqueued: 7, dropped: 1, cancelled: 1))

        bench.time.advance(by: .seconds(1))
        let running = try await worker.take(5)  // 3, 4, 2b, 5, 6
        try await expectStatus(.of(leased: 5, kept: 2), .of(enqueued: 7, dropped: 1, cancelled: 1))
        _ = try await worker.settle([
            Settlement(running[0].lease, .done), Settlement(running[1].lease, .retry(error: "e")),
            Settlement(running[2].lease, .dead(error: "e")), Settlement(running[3].lease, .release),
        ])
        try await expectStatus(
            .of(scheduled: 1, ready: 1, leased: 1, dead: 1, kept: 3),
            .of(enqueued: 7, done: 1, dead: 1, dropped: 1, cancelled: 1, retried: 1))

        try await bench.crash(worker)
        _ = try await store.reclaim()
        try await expectStatus(
            .of(scheduled: 1, ready: 2, dead: 1, kept: 3),
            .of(enqueued: 7, done: 1, dead: 1, dropped: 1, cancelled: 1, retried: 1, reclaimed: 1))
        bench.time.advance(by: .seconds(1))
        _ = try await store.apply(.redrive, to: .sequences([running[2].sequence]))
        for message in try await store.take(4) {
            _ = try await store.give(.retry(error: "e"), for: message)
        }
        // Two had one attempt left, and two had failed once before.
        try await expectStatus(
            .of(scheduled: 2, dead: 2, kept: 3),
            .of(enqueued: 7, done: 1, dead: 3, dropped: 1, cancelled: 1, retried: 3, reclaimed: 1))

        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled], limit: 1))
        _ = try await store.apply(.discard, to: .queue(.jobs, states: [.dead], limit: 1))
        let end = Totals.of(enqueued: 7, done: 1, dead: 3, dropped: 1, cancelled: 3, retried: 3, reclaimed: 1)
        try await expectStatus(.of(scheduled: 1, dead: 1, kept: 5), end)
        while try await store.prune(PruneRequest(retention: Retention(age: .zero, deadAge: .zero))).hasMore {}
        try await expectStatus(.of(scheduled: 1), end)
    }

    static func listsQueues(_ bench: Bench) async throws {
        let store = try await bench.open()
        #expect(try await store.status(of: nil).queues.isEmpty)
        let policy = QueuePolicy(
            capacity: Capacity(7, whenFull: .dropOldest),
            retry: RetryPolicy(
                attemptsMax: 3, base: .milliseconds(5), factor: 1.5, cap: .microseconds(7_000_001), jitter: 0.125),
            retention: Retention(age: .microseconds(99), count: 5, deadAge: .seconds(1)))
        let plain = QueuePolicy(retention: Retention(age: nil))
        for name in ["b", "a", "c"] {
            try await store.configure(QueueName(name), .create(name == "a" ? policy : plain, ifAbsent: false))
        }
        try await store.configure(QueueName("b"), .pause)
        let queues = try await store.status(of: nil).queues
        #expect(queues.map(\.name.text) == ["a", "b", "c"])
        #expect(queues.map(\.policy) == [policy, plain, plain], "A policy comes back as it was given.")
        #expect(queues.map(\.isPaused) == [false, true, false])
        #expect(try await store.status(of: QueueName("b")).queues == [queues[1]])
        await expect(.unknownQueue) { try await store.status(of: .jobs) }
    }

    static func listsWorkers(_ bench: Bench) async throws {
        let (first, second) = try await bench.openTwo(.steady())
        try await first.put((1...3).map { .text("\($0)") })
        let start = bench.time.now
        let messages = try await first.take(1)
        bench.time.advance(by: .seconds(1))
        _ = try await first.take(1)
        bench.time.advance(by: .seconds(1))
        _ = try await second.take(1)

        let workers = try await second.status(of: nil).workers
        #expect(workers.filter { $0.isAlive == true }.map(\.leased).sorted(by: >) == [2, 1])
        let busy = try #require(workers.first { $0.leased == 2 })
        #expect(busy.oldestClaim == start)
        #expect(!busy.name.isEmpty)
        #expect(try await second.record(messages[0].sequence).worker == busy.id)
        #expect(Set(workers.map(\.id)).count == workers.count)
        #expect(workers.first { $0.leased == 1 }?.oldestClaim == start + .seconds(2))

        try await bench.crash(first)
        let dead = try #require(try await second.status(of: nil).workers.first { $0.id == busy.id })
        #expect(dead.isAlive == false)
        #expect(dead.leased == 2)
        _ = try await second.reclaim()
        #expect(try await second.status(of: nil).workers.allSatisfy { $0.id != busy.id || $0.leased == 0 })
    }
}
