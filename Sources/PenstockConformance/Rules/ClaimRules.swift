import PenstockCore
import PenstockTestKit
import Testing

/// Which messages a claim gives, to which worker, and when.
enum ClaimRules {
    static let cases: ConformanceCase.Rules = [
        "goes by priority and then by sequence": goesByPriority,
        "gives several at once, and no more than asked for": givesSeveral,
        "gives nobody what another holds": givesNoneTwice,
        "gives no scheduled message early, and each on time": neverEarly,
        "says when the next one is due": saysNextDue,
        "gives a due message its place by priority": dueByPriority,
        "makes ready a bounded number of due messages": boundsPromotion,
        "gives nothing of a paused queue": pausedGivesNothing,
        "stays in its queue": staysInQueue,
        "counts attempts and makes a new token each time": countsAttempts,
        "checks its input": checksInput,
    ]

    static func goesByPriority(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put([
            .text("b1"), .text("c1", priority: -1), .text("a1", priority: 100), .text("b2"),
            .text("d1", priority: -100), .text("a2", priority: 100), .text("c2", priority: -1), .text("b3"),
        ])
        #expect(try await store.take(3).map(\.text) == ["a1", "a2", "b1"])
        try await store.put(.text("a3", priority: 100))
        #expect(try await store.take(1).map(\.text) == ["a3"])
        #expect(try await store.drain() == ["b2", "b3", "c1", "c2", "d1"])
    }

    static func givesSeveral(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        #expect(try await store.take(10).isEmpty)
        try await store.put((1...7).map { .text("\($0)") })
        #expect(try await store.take(1).count == 1)
        #expect(try await store.take(4).map(\.text) == ["2", "3", "4", "5"])
        #expect(try await store.take(Limits.batchCountMax).map(\.text) == ["6", "7"])
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(leased: 7))
    }

    static func givesNoneTwice(_ bench: Bench) async throws {
        let stores = [try await bench.open(.steady()), try await bench.open(), try await bench.open()]
        let sequences = try await stores[0].put((1...60).map { .text("\($0)") }).map(\.sequence)
        let claimed = try await withThrowingTaskGroup(of: [SequenceNumber].self) { group in
            for store in stores {
                group.addTask {
                    var mine: [SequenceNumber] = []
                    while case let messages = try await store.take(2), !messages.isEmpty {
                        mine += messages.map(\.sequence)
                    }
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(claimed.sorted() == sequences)
    }

    static func neverEarly(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put([
            .text("third", due: .after(.seconds(3))), .text("first", due: .after(.microseconds(1_000_001))),
            .text("second", due: .at(bench.time.now + .seconds(2))),
        ])
        #expect(try await store.take(10).isEmpty)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty, "One microsecond is left.")
        bench.time.advance(by: .microseconds(1))
        #expect(try await store.take(10).map(\.text) == ["first"])
        bench.time.advance(by: .microseconds(999_998))
        #expect(try await store.take(10).isEmpty)
        bench.time.advance(by: .seconds(1) + .microseconds(1))
        #expect(try await store.take(10).map(\.text) == ["third", "second"], "Both are due: sequence decides.")
        #expect(try await store.depths() == .of(leased: 3))
    }

    static func saysNextDue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let request = ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(30))
        let start = bench.time.now
        #expect(try await store.claim(request).nextDue == nil)
        try await store.put([
            .text("now"), .text("later", due: .after(.seconds(9))), .text("soon", due: .after(.seconds(5))),
        ])
        let claim = try await store.claim(request)
        #expect(claim.messages.map(\.text) == ["now"])
        #expect(claim.nextDue == start + .seconds(5))
        bench.time.advance(by: .seconds(5))
        #expect(try await store.claim(request).nextDue == start + .seconds(9))
        bench.time.advance(by: .seconds(4))
        let last = try await store.claim(request)
        #expect(last.messages.map(\.text) == ["later"])
        #expect(last.nextDue == nil)
        #expect(try await store.give(.retry(error: "again", after: .seconds(60)), for: last.messages[0]) != .leaseLost)
        #expect(try await store.claim(request).nextDue == bench.time.now + .seconds(60))
    }

    static func dueByPriority(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put([
            .text("low"), .text("high", priority: 5, due: .after(.seconds(1))),
            .text("same", due: .after(.seconds(1))), .text("last"),
        ])
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(1).map(\.text) == ["high"])
        #expect(try await store.drain() == ["low", "same", "last"])
    }

    static func boundsPromotion(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let most = Limits.promotionCountMax
        let start = bench.time.now
        try await store.put((0..<(most + 5)).map { .text("\($0)", due: .at(start + .seconds(2000 - $0))) })
        bench.time.advance(by: .seconds(3000))

        let first = try await store.claim(ClaimRequest(queue: .jobs, limit: 2000, lease: .seconds(30)))
        #expect(first.messages.map(\.text) == (5..<(most + 5)).map(String.init), "Those that were due longest.")
        #expect(first.nextDue == start + .seconds(1996), "A due time that is past: claim again at once.")
        let second = try await store.claim(ClaimRequest(queue: .jobs, limit: 2000, lease: .seconds(30)))
        #expect(second.messages.map(\.text) == (0..<5).map(String.init))
        #expect(second.nextDue == nil)
    }

    static func pausedGivesNothing(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let running = try await store.putAndTake("running")
        try await store.put([.text("1"), .text("2", due: .after(.seconds(1)))])
        try await store.configure(.jobs, .pause)
        #expect(try await store.queueStatus().isPaused)

        bench.time.advance(by: .seconds(1))
        let claim = try await other.claim(ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.isEmpty)
        #expect(claim.nextDue == nil)
        #expect(try await store.put(.text("3")).state == .ready, "Messages are still accepted.")
        #expect(try await store.give(.done, for: running) == .settled(.done), "What runs goes on.")

        try await store.configure(.jobs, .resume)
        #expect(try await !store.queueStatus().isPaused)
        #expect(try await other.drain() == ["1", "2", "3"])
    }

    static func staysInQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: QueuePolicy())
        try await store.put(.text("letter", priority: 100), to: .mail)
        try await store.put("job")
        try await store.configure(.mail, .pause)
        #expect(try await store.take(10).map(\.text) == ["job"])
        try await store.configure(.mail, .resume)
        #expect(try await store.take(10, from: .mail).map(\.text) == ["letter"])
        await expect(.unknownQueue) { try await store.take(1, from: QueueName(stored: "nowhere")) }
    }

    static func countsAttempts(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 5))
        let sequence = try await store.put("it")
        let verdicts: [(Verdict, attempt: Int)] = [
            (.release, 1), (.retry(error: "again", after: .zero), 1), (.release, 2),
            (.retry(error: "again", after: .zero), 2), (.done, 3),
        ]
        var tokens: Set<LeaseToken> = []
        for (verdict, attempt) in verdicts {
            let message = try await store.takeOne()
            #expect(message.attempt == attempt)
            #expect(try await store.record(sequence).attempt == attempt)
            #expect(tokens.insert(message.lease.token).inserted)
            #expect(try await store.give(verdict, for: message) != .leaseLost)
        }
        #expect(try await store.record(sequence).attempt == 3)
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        for limit in [0, -1, Limits.batchCountMax + 1] {
            await expect(.invalidInput) { try await store.take(limit) }
        }
        for lease in [.zero, .seconds(-1), .milliseconds(99), Limits.leaseRange.upperBound + .seconds(1)] {
            await expect(.invalidInput) { try await store.take(1, lease: lease) }
        }
        #expect(try await store.state(of: sequence) == .ready)
        #expect(try await store.take(1, lease: Limits.leaseRange.lowerBound).count == 1)
    }
}
