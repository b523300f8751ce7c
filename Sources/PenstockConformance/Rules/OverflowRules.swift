import PenstockCore
import PenstockTestKit
import Testing

/// What a full queue does with one message more.
enum OverflowRules {
    static let cases: ConformanceCase.Rules = [
        "dropNewest drops what arrives, on record": dropNewest,
        "dropNewest takes of a batch what fits": dropNewestBatch,
        "dropOldest drops the lowest number, on record": dropOldest,
        "dropOldest lets a batch displace its own": dropOldestBatch,
        "dropOldest drops a scheduled message when none is ready": dropOldestScheduled,
        "fail takes a batch as a whole or not at all": fail,
        "fail counts what needs room exactly": failCountsExactly,
        "wait takes what fits and leaves the rest": waitTakesWhatFits,
        "scheduled messages count, running ones do not": whatCounts,
        "what comes back always finds a place": returnsFindPlace,
        "above its capacity a queue keeps its policy": aboveCapacity,
        "a new capacity holds for what comes": newCapacity,
        "holds between processes": holdsBetweenProcesses,
    ]

    static func dropNewest(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropNewest))
        try await store.put("1")
        try await store.put("2")
        bench.time.advance(by: .seconds(1))
        let receipt = try await store.put(.text("3", priority: 100))
        #expect(receipt.state == .dropped)
        #expect(receipt.displaced == nil)
        #expect(!receipt.skipped)

        let record = try await store.record(receipt.sequence)
        #expect(record.state == .dropped)
        #expect(record.reason == .dropNewest)
        #expect(record.enqueuedAt == bench.time.now)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.attempt == 0)
        #expect(record.text == "3", "A drop keeps its payload.")
        #expect(try await store.depths() == .of(ready: 2, kept: 1))
        #expect(try await store.totals() == .of(enqueued: 3, dropped: 1))
        #expect(try await store.drain() == ["1", "2"])
    }

    static func dropNewestBatch(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(3, .dropNewest))
        let receipts = try await store.put((1...5).map { .text("\($0)") })
        #expect(receipts.map(\.state) == [.ready, .ready, .ready, .dropped, .dropped])
        let later = try await store.put(.text("6", due: .after(.seconds(1))))
        #expect(later.state == .dropped)
        #expect(try await store.record(later.sequence).due == nil)
        #expect(receipts.last.map { $0.sequence < later.sequence } == true, "Each drop has a number of its own.")
        #expect(try await store.drain() == ["1", "2", "3"])
    }

    static func dropOldest(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(3, .dropOldest))
        let oldest = try await store.put(.text("1", priority: 50)).sequence
        try await store.put(.text("2", priority: -50))
        try await store.put(.text("3", due: .after(.seconds(1))))
        bench.time.advance(by: .milliseconds(500))
        let receipt = try await store.put(.text("4"))
        #expect(receipt.state == .ready)
        #expect(receipt.displaced == oldest, "The lowest number goes, whatever its priority.")

        let record = try await store.record(oldest)
        #expect(record.state == .dropped)
        #expect(record.reason == .dropOldest)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.text == "1")
        #expect(try await store.depths() == .of(scheduled: 1, ready: 2, kept: 1))
        #expect(try await store.totals() == .of(enqueued: 4, dropped: 1))
        #expect(try await store.drain() == ["4", "2"])
    }

    static func dropOldestBatch(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropOldest))
        let receipts = try await store.put((1...5).map { .text("\($0)") })
        let sequences = receipts.map(\.sequence)
        #expect(receipts.map(\.state) == Array(repeating: .ready, count: 5))
        #expect(receipts.map(\.displaced) == [nil, nil, sequences[0], sequences[1], sequences[2]])
        #expect(try await store.drain() == ["4", "5"])
        #expect(try await store.totals() == .of(enqueued: 5, dropped: 3))
    }

    static func dropOldestScheduled(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropOldest))
        let late = try await store.put(.text("late", due: .after(.seconds(20)))).sequence
        let early = try await store.put(.text("early", due: .after(.seconds(10)))).sequence
        let first = try await store.put(.text("a", due: .after(.seconds(30))))
        #expect(first.state == .scheduled)
        #expect(first.displaced == early, "The one that is due first goes.")
        #expect(try await store.record(early).due == nil)
        #expect(try await store.put(.text("b")).displaced == late)
        #expect(try await store.depths() == .of(scheduled: 1, ready: 1, kept: 2))
    }

    static func fail(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(3, .fail))
        try await store.put("1")
        let before = try await store.queueStatus()
        do {
            try await store.put((2...4).map { .text("\($0)") })
            Issue.record("The batch does not fit.")
        } catch let error as PenstockError {
            #expect(error.code == .queueFull)
            #expect(error.message.contains("jobs"), "The error names the queue: \(error.message)")
            #expect(error.message.contains("3"), "The error names the capacity: \(error.message)")
        }
        #expect(try await store.queueStatus() == before)
        #expect(try await store.messages(MessageQuery()).count == 1)
        #expect(try await store.put([.text("2"), .text("3")]).map(\.state) == [.ready, .ready])
        await expect(.queueFull) { try await store.put("4") }
        #expect(try await store.drain() == ["1", "2", "3"])
        try await store.put("4")
    }

    static func failCountsExactly(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(3, .fail))
        try await store.put([.text("1", key: "a"), .text("2", key: "b")])
        // Room for one: a skip, a replacement and the second of two with one key need none.
        let receipts = try await store.put([
            .text("skipped", key: "a"),
            .text("3", key: "b", onConflict: .replace),
            .text("4", key: "c"),
            .text("5", key: "c", onConflict: .replace),
            .text("skipped", key: "c"),
        ])
        #expect(receipts.map(\.skipped) == [true, false, false, false, true])
        #expect(try await store.depths() == .of(ready: 3, kept: 2))

        let before = try await store.queueStatus()
        await expect(.queueFull) {
            try await store.put([.text("6", key: "a", onConflict: .replace), .text("7", key: "d")])
        }
        #expect(try await store.queueStatus() == before)
        #expect(try await store.drain() == ["1", "3", "5"])
    }

    static func waitTakesWhatFits(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .wait))
        let receipts = try await store.put((1...5).map { .text("\($0)") })
        #expect(receipts.map(\.state) == [.ready, .ready])
        #expect(try await store.totals() == .of(enqueued: 2))
        #expect(try await store.put([.text("3"), .text("4")]).isEmpty)

        let key = try await store.put([.text("3"), .text("4", key: "k")])
        #expect(key.isEmpty)
        #expect(try await store.work(.done) == receipts[0].sequence)
        let next = try await store.put([.text("3"), .text("4"), .text("5")])
        #expect(next.count == 1)
        #expect(try await store.drain() == ["2", "3"])
        #expect(try await store.messages(MessageQuery()).count == 3, "The rest left no trace.")
    }

    static func whatCounts(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .fail))
        try await store.put(.text("1", due: .after(.seconds(60))))
        try await store.put("2")
        await expect(.queueFull) { try await store.put("3") }
        let running = try await store.takeOne()
        try await store.put("3")
        await expect(.queueFull) { try await store.put("4") }
        #expect(try await store.give(.dead(error: "bad"), for: running) == .settled(.dead))
        await expect(.queueFull) { try await store.put("4") }
        #expect(try await store.depths() == .of(scheduled: 1, ready: 1, dead: 1))
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled]))
        try await store.put("4")
    }

    static func returnsFindPlace(_ bench: Bench) async throws {
        for policy in OverflowPolicy.allCases {
            let store = try await bench.open(.steady(2, policy))
            try await store.configure(.jobs, .set(.steady(2, policy)))
            let other = try await bench.open()
            try await store.put([.text("retry"), .text("release")])
            let running = try await store.take(2)
            try await store.put([.text("crash"), .text("dead")])
            _ = try await other.takeOne()
            try await store.work(.dead(error: "bad"))
            try await store.put([.text("new 1"), .text("new 2")])

            let back: [Verdict] = [.retry(error: "again"), .release]
            for (message, verdict) in zip(running, back) {
                #expect(try await store.give(verdict, for: message) != .leaseLost)
            }
            try await bench.crash(other)
            #expect(try await store.reclaim() == Reclaimed(fromDeadWorkers: 1))
            #expect(try await store.apply(.redrive, to: .queue(.jobs, states: [.dead])) == 1)
            #expect(try await store.depths() == .of(scheduled: 1, ready: 5), "\(policy)")
            #expect(try await store.totals().dropped == 0, "\(policy)")
            bench.time.advance(by: .seconds(1))
            #expect(try await store.drain() == ["retry", "release", "crash", "dead", "new 1", "new 2"], "\(policy)")
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    /// A queue for 2 where 4 wait, because two came back.
    private static func overfull(_ policy: OverflowPolicy, _ bench: Bench) async throws -> any MessageStore {
        let store = try await bench.open(.steady(2, policy))
        try await store.configure(.jobs, .set(.steady(2, policy)))
        try await store.put([.text("1"), .text("2")])
        let running = try await store.take(2)
        try await store.put([.text("3"), .text("4")])
        for message in running { _ = try await store.give(.release, for: message) }
        return store
    }

    static func aboveCapacity(_ bench: Bench) async throws {
        for policy in OverflowPolicy.allCases {
            let store = try await overfull(policy, bench)
            switch policy {
            case .dropNewest:
                #expect(try await store.put(.text("5")).state == .dropped)
                #expect(try await store.drain() == ["1", "2", "3", "4"])
            case .dropOldest:
                let receipt = try await store.put(.text("5"))
                let displaced = try #require(receipt.displaced)
                #expect(try await store.record(displaced).text == "1")
                #expect(try await store.depths().waiting == 4, "Each arrival displaces one.")
                #expect(try await store.drain() == ["2", "3", "4", "5"])
            case .fail:
                await expect(.queueFull) { try await store.put("5") }
                _ = try await store.take(2)
                await expect(.queueFull) { try await store.put("5") }
                _ = try await store.take(1)
                try await store.put("5")
                #expect(try await store.drain() == ["4", "5"])
            case .wait:
                #expect(try await store.put([.text("5")]).isEmpty)
                _ = try await store.take(2)
                #expect(try await store.put([.text("5")]).isEmpty)
                _ = try await store.take(1)
                #expect(try await store.put([.text("5"), .text("6")]).count == 1)
            }
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    static func newCapacity(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...4).map { .text("\($0)") })
        try await store.configure(.jobs, .set(.steady(2, .fail)))
        #expect(try await store.depths() == .of(ready: 4), "What waits beyond a smaller capacity stays.")
        await expect(.queueFull) { try await store.put("5") }
        _ = try await store.take(3)
        try await store.put("5")
        await expect(.queueFull) { try await store.put("6") }
        try await store.configure(.jobs, .set(.steady(4, .fail)))
        try await store.put([.text("6"), .text("7")])
        await expect(.queueFull) { try await store.put("8") }
        try await store.configure(.jobs, .set(.steady()))
        try await store.put((8...20).map { .text("\($0)") })
        #expect(try await store.drain() == (4...20).map { "\($0)" })
    }

    static func holdsBetweenProcesses(_ bench: Bench) async throws {
        let (first, second) = try await bench.openTwo(.steady(3, .fail))
        try await first.put("1")
        try await second.put("2")
        try await first.put("3")
        await expect(.queueFull) { try await second.put("4") }
        _ = try await second.takeOne()
        try await first.put("4")
        await expect(.queueFull) { try await second.put("5") }
        try await first.configure(.jobs, .set(.steady(3, .dropOldest)))
        #expect(try await second.put(.text("5")).displaced != nil, "A policy set by one process holds for all.")
    }
}
