import PenstockCore
import PenstockTestKit
import Testing

/// Rates of starts: of a queue, and of each of its groups.
enum RateRules {
    static let cases: ConformanceCase.Rules = [
        "hold in every window": everyWindow,
        "say when the next message may start": nextDue,
        "let a burst start at once": bursts,
        "lose nothing to workers that wake a little late": late,
        "count starts that come to nothing": counted,
        "hold over restarts and clocks that are set": clocks,
        "hold when the machine is started anew": reboots,
        "change with the next claim": changed,
        "of groups leave others alone": groups,
        "of groups hold in every window": groupWindows,
        "of groups put one message in line at a time": oneReady,
        "of groups in order keep the order": inOrder,
        "of groups end with the policy": ended,
        "can be put off by a worker": holds,
        "that are put off block what is ready": holdsReady,
        "must be rates": doors,
    ]

    private static func policy(
        _ rate: Rate? = nil, perKey: Rate? = nil, _ groups: GroupPolicy? = nil
    ) -> QueuePolicy {
        var policy = QueuePolicy.steady(attemptsMax: 1000)
        (policy.rate, policy.ratePerKey, policy.groups) = (rate, perKey, groups)
        return policy
    }

    /// How far starts are apart that come one after the other at a rate of one in ten seconds: the period, and the allowance for
    /// late ones.
    private static let apart = Duration.milliseconds(10_020)

    private static func claim(_ store: any MessageStore, _ limit: Int = 100) async throws -> Claim {
        try await store.claim(ClaimRequest(queue: .jobs, limit: limit, lease: .seconds(3600)))
    }

    /// When messages start that are claimed as soon as they can be, or `late` after, by the wall clock.
    private static func starts(
        _ bench: Bench, _ store: any MessageStore, _ count: Int, late: Duration = .zero
    ) async throws -> [Timestamp] {
        var starts: [Timestamp] = []
        while starts.count < count {
            let claim = try await claim(store)
            starts += claim.messages.map { _ in bench.time.now }
            if claim.messages.isEmpty {
                let due = try #require(claim.nextDue, "Nobody says when the next message may start.")
                #expect(due > bench.time.now)
                bench.time.advance(to: due + late)
            }
        }
        return starts
    }

    private static func expectRate(_ starts: [Timestamp], _ most: Int, in period: Duration) {
        for (index, first) in starts.enumerated() where index + most < starts.count {
            #expect(starts[index + most] - first >= period, "\(most + 1) starts from \(first) on")
        }
    }

    static func everyWindow(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(10, per: .seconds(1))))
        let other = try await bench.open()
        try await store.put((1...60).map { .text("\($0)") })
        var all: [Timestamp] = []
        for index in 1...6 { all += try await starts(bench, index.isMultiple(of: 2) ? other : store, 10) }
        expectRate(all, 10, in: .seconds(1))
        #expect(all[59] - all[0] <= .milliseconds(6250), "At least 96 % of the rate.")
    }

    static func nextDue(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(10))))
        try await store.put(["1", "2"].map { .text($0) })
        let first = try await claim(store)
        #expect(first.messages.map(\.text) == ["1"])
        let next = Duration.microseconds(10_000_000)
        #expect(first.nextDue.map { $0 - bench.time.now } == next)
        #expect(try await claim(store).nextDue.map { $0 - bench.time.now } == next)
        #expect(try await store.depths() == .of(ready: 1, leased: 1))
        bench.time.advance(by: .milliseconds(9_999))
        #expect(try await claim(store).messages.isEmpty)
        bench.time.advance(by: .milliseconds(1))
        #expect(try await claim(store).messages.map(\.text) == ["2"])
        #expect(try await claim(store).nextDue == nil, "Nothing waits for the rate.")
    }

    static func bursts(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(5, per: .seconds(10), burst: 3)))
        try await store.put((1...20).map { .text("\($0)") })
        #expect(try await claim(store).messages.count == 3)
        var all = [Timestamp](repeating: bench.time.now, count: 3)
        all += try await starts(bench, store, 15)
        expectRate(all, 7, in: .seconds(10))
        bench.time.advance(by: .seconds(100))
        #expect(try await claim(store).messages.count == 2, "No more than the burst is saved up, and 20 were there.")
    }

    static func late(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(100, per: .seconds(1))))
        try await store.put((1...300).map { .text("\($0)") })
        let all = try await starts(bench, store, 300, late: .milliseconds(5))
        expectRate(all, 100, in: .seconds(1))
        #expect(all[299] - all[0] <= .milliseconds(3150), "At least 95 % of the rate, though every claim came late.")
    }

    static func counted(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(10))))
        let worker = try await bench.open()
        try await store.put(["1", "2"].map { .text($0) })
        let released = try await store.takeOne()
        #expect(try await store.give(.release, for: released) == .settled(.ready))
        #expect(try await store.take().isEmpty)
        bench.time.advance(by: apart)
        #expect(try await claim(worker).messages.map(\.text) == ["1"])
        try await bench.crash(worker)
        _ = try await store.reclaim()
        #expect(try await store.take().isEmpty)
        bench.time.advance(by: apart)
        #expect(try await store.takeOne().text == "1")
    }

    static func clocks(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(60))))
        try await store.put((1...4).map { .text("\($0)") })
        #expect(try await store.take(4).count == 1)
        for jump in [Duration.seconds(86_400), .seconds(-200_000)] {
            bench.time.set(wall: bench.time.now + jump)
            #expect(try await store.take(4).isEmpty)
            let next = try await claim(store).nextDue
            #expect(next.map { $0 - bench.time.now } == .seconds(60))
        }
        bench.time.advance(by: .seconds(60))
        let other = try await bench.open()
        #expect(try await other.take(4).count == 1)
        #expect(try await store.take(4).isEmpty)
    }

    static func reboots(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(60))))
        try await store.put((1...4).map { .text("\($0)") })
        #expect(try await store.take(4).count == 1)
        bench.time.reboot(after: .seconds(30))
        let next = try await claim(store)
        #expect(next.messages.isEmpty)
        #expect(next.nextDue.map { $0 - bench.time.now } == .seconds(30))
        bench.time.advance(by: .seconds(30))
        #expect(try await store.take(4).count == 1)
        // A wall clock that is wrong by years stops nothing for longer than one start takes.
        bench.time.reboot(after: .seconds(1))
        bench.time.set(wall: bench.time.now + .seconds(-1_000_000_000))
        let wrong = try await claim(store)
        #expect(try #require(wrong.nextDue) - bench.time.now <= .seconds(61))
    }

    static func changed(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(3600))))
        try await store.put((1...50).map { .text("\($0)") })
        #expect(try await store.take(50).count == 1)
        let token = store.changes.token(for: .jobs)
        try await store.configure(.jobs, .set(policy(Rate(1, per: .seconds(5)))))
        try await store.changes.wait(for: .jobs, after: token)
        try await store.configure(.jobs, .set(policy()))
        #expect(try await store.take(50).count == 49)
    }

    static func groups(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(1, per: .seconds(10)), .limit(10)))
        let texts = ["a", "b"].flatMap { key in (1...3).map { (key, "\(key)\($0)") } }
        try await store.put(texts.map { .text($0.1, group: $0.0) })
        try await store.put(.text("free"))
        #expect(try await store.depths() == .of(blocked: 4, ready: 3))
        let first = try await claim(store)
        #expect(first.messages.map(\.text) == ["a1", "b1", "free"])
        #expect(first.nextDue.map { $0 - bench.time.now } == .seconds(10))
        bench.time.advance(by: .seconds(4))
        try await store.put(.text("c1", group: "c"))
        #expect(try await store.take(9).map(\.text) == ["c1"])
        bench.time.advance(by: .seconds(6))
        #expect(try await store.take(9).map(\.text) == ["a2", "b2"])
        #expect(try await claim(store).nextDue.map { $0 - bench.time.now } == apart)
    }

    static func groupWindows(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(4, per: .seconds(2), burst: 2), .limit(1000)))
        try await store.put((1...40).map { .text("\($0)", group: $0.isMultiple(of: 2) ? "a" : "b") })
        var byGroup: [String?: [Timestamp]] = [:]
        while byGroup.values.reduce(0, { $0 + $1.count }) < 40 {
            let claim = try await claim(store)
            for message in claim.messages { byGroup[message.group, default: []].append(bench.time.now) }
            if claim.messages.isEmpty { bench.time.advance(to: try #require(claim.nextDue)) }
        }
        for starts in byGroup.values {
            expectRate(starts, 5, in: .seconds(2))
            #expect(try #require(starts.last) - starts[0] <= .seconds(10))
        }
    }

    static func oneReady(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(1, per: .seconds(1)), .limit(10)))
        try await store.put((1...3).map { .text("\($0)", group: "a") })
        bench.time.advance(by: .seconds(100))
        #expect(try await store.depths() == .of(blocked: 2, ready: 1), "Time alone puts no second one in line.")
        // The one in line is gone, and the next has its place, as nothing has started.
        #expect(try await store.apply(.cancel, to: .sequences([SequenceNumber(1)])) == 1)
        #expect(try await store.take(9).map(\.text) == ["2"])
        #expect(try await store.take(9).isEmpty)
    }

    static func inOrder(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(1, per: .seconds(10)), .fifo()))
        try await store.put((1...3).map { .text("\($0)", group: "a") })
        let first = try await store.takeOne()
        #expect(try await store.give(.retry(error: "", after: .seconds(2)), for: first) == .settled(.scheduled))
        bench.time.advance(by: .seconds(3))
        #expect(try await store.take().isEmpty, "Its second attempt is a start as well.")
        #expect(try await store.depths() == .of(blocked: 3))
        bench.time.advance(by: .seconds(7))
        let again = try await store.takeOne()
        #expect(again.text == "1")
        #expect(try await store.give(.done, for: again) == .settled(.done))
        #expect(try await store.take().isEmpty)
        bench.time.advance(by: apart)
        #expect(try await store.takeOne().text == "2")
    }

    static func ended(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(1, per: .seconds(3600)), .limit(2)))
        try await store.put((1...5).map { .text("\($0)", group: "a") })
        #expect(try await store.take(9).count == 1)
        #expect(try await store.take(9).isEmpty)
        try await store.configure(.jobs, .set(policy(nil, .limit(2))))
        #expect(try await store.take(9).isEmpty, "Only the time that was asked for before has to pass.")
        bench.time.advance(by: .seconds(3601))
        #expect(try await store.take(9).map(\.text) == ["2"])
        try await store.configure(.jobs, .set(policy(perKey: Rate(1, per: .seconds(1)), .limit(4))))
        #expect(try await store.take(9).map(\.text) == ["3"])
        try await store.configure(.jobs, .set(policy()))
        #expect(try await store.take(9).map(\.text) == ["4", "5"])
    }

    static func holds(_ bench: Bench) async throws {
        let store = try await bench.open(policy(nil, .limit(2)))
        try await store.put((1...4).map { .text("a\($0)", group: "a") } + [.text("b1", group: "b")])
        let held = try await store.take(9)
        #expect(held.map(\.text) == ["a1", "a2", "b1"])
        let hold = Verdict.retry(error: "429", after: .seconds(30), holdsGroup: true)
        #expect(try await store.give(hold, for: held[0]) == .settled(.scheduled))
        #expect(try await store.give(.done, for: held[1]) == .settled(.done))
        let claim = try await claim(store)
        #expect(claim.messages.isEmpty)
        #expect(claim.nextDue.map { $0 - bench.time.now } == .seconds(30))
        bench.time.advance(by: .seconds(30))
        #expect(try await store.take(9).map(\.text) == ["a3", "a4"])
        // Without a group it is a retry like any other.
        try await store.put(.text("free"))
        let free = try await store.takeOne()
        #expect(try await store.give(hold, for: free) == .settled(.scheduled))
        try await store.put(.text("next"))
        #expect(try await store.takeOne().text == "next")
    }

    static func holdsReady(_ bench: Bench) async throws {
        let store = try await bench.open(policy(nil, .limit(3)))
        try await store.put((1...5).map { .text("\($0)", group: "a") })
        let held = try await store.takeOne()
        #expect(try await store.depths() == .of(blocked: 2, ready: 2, leased: 1))
        let hold = Verdict.retry(error: "429", after: .seconds(30), holdsGroup: true)
        #expect(try await store.give(hold, for: held) == .settled(.scheduled))
        #expect(try await store.depths() == .of(scheduled: 1, blocked: 4))
        #expect(try await store.take(9).isEmpty)
        try await store.put(.text("6", group: "a"))
        #expect(try await store.take(9).isEmpty)
        bench.time.advance(by: .seconds(30))
        #expect(try await store.take(9).map(\.text) == ["2", "3", "4"])
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let wrong: [QueuePolicy] = [
            policy(Rate(0, per: .seconds(1))), policy(Rate(1, per: .zero)), policy(Rate(1, per: .seconds(-1))),
            policy(Rate(1, per: .seconds(31 * 24 * 3600))), policy(Rate(1, per: .seconds(1), burst: 0)),
            policy(Rate(2000, per: .milliseconds(1))), policy(perKey: Rate(1, per: .seconds(1))),
        ]
        for policy in wrong { await expect(.invalidInput) { try await store.configure(.jobs, .set(policy)) } }
        try await store.put("x")
        let held = try await store.takeOne()
        await expect(.invalidInput) { _ = try await store.give(.retry(error: "", holdsGroup: true), for: held) }
        #expect(try await store.give(.done, for: held) == .settled(.done))
    }
}
