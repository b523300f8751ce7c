import PenstockCore
import PenstockTestKit
import Testing

/// Rates of starts: of a queue, and of each of its groups.
enum RateRules {
    static let cases: ConformanceCase.Rules = [
        "hold in every window": everyWindow,
        "say when the next message may start": nextDue,
        "say nothing of time while a limit is in the way as well": besidesALimit,
        "let a burst start at once": bursts,
        "lose nothing to workers that wake a little late": late,
        "count starts that come to nothing": counted,
        "do not count a start with which no worker has begun": unbegun,
        "count such a start when its time has passed": unbegunLate,
        "of groups do not count a start with which no worker has begun": unbegunOfGroup,
        "hold over restarts and clocks that are set": clocks,
        "hold when the machine is started anew": reboots,
        "hold when the clock was set before the machine is started anew": clocksBeforeReboots,
        "change with the next claim": changed,
        "that are changed ask for no more time than the new one does": relaxed,
        "go with their queue": deleted,
        "must be rates": doors,
    ]

    static func policy(
        _ rate: Rate? = nil, perKey: Rate? = nil, _ groups: GroupPolicy? = nil
    ) -> QueuePolicy {
        QueuePolicy.steady(attemptsMax: 1000) { ($0.rate, $0.ratePerKey, $0.groups) = (rate, perKey, groups) }
    }

    /// How far starts are apart that come one after the other at a rate of one in ten seconds: the period, and the allowance for
    /// late ones.
    static let apart = Duration.milliseconds(10_020)

    static func claim(_ store: any MessageStore, _ limit: Int = 100) async throws -> Claim {
        try await store.claim(ClaimRequest(queue: .jobs, limit: limit, lease: .seconds(3600)))
    }

    /// When messages start that are claimed as soon as they can be, or `late` after, by the wall clock.
    static func starts(
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

    static func expectRate(_ starts: [Timestamp], _ most: Int, in period: Duration) {
        for (index, first) in starts.enumerated() where index + most < starts.count {
            #expect(starts[index + most] - first >= period, "\(most + 1) starts from \(first) on")
        }
    }

    static func everyWindow(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(policy(Rate(10, per: .seconds(1))))
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

    static func besidesALimit(_ bench: Bench) async throws {
        var both = policy(Rate(1, per: .seconds(10)))
        both.limit = 1
        let (store, other) = try await bench.openTwo(both)
        try await store.put(["1", "2"].map { .text($0) })
        let first = try await claim(store)
        #expect(first.messages.map(\.text) == ["1"])
        #expect(first.nextDue == nil)
        for store in [store, other] {
            let next = try await claim(store)
            #expect(next.messages.isEmpty && next.nextDue == nil, "The end of the first one is rung for.")
        }
        let token = other.changes.token(for: .jobs)
        #expect(try await store.give(.done, for: first.messages[0]) == .settled(.done))
        try await other.changes.wait(for: .jobs, after: token)
        #expect(try await claim(other).nextDue.map { $0 - bench.time.now } == .seconds(10))
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
        let (store, worker) = try await bench.openTwo(policy(Rate(1, per: .seconds(10))))
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

    /// A worker says of a message that it is not for it: another one may have it then.
    static func passOn(_ message: ClaimedMessage, _ bench: Bench, _ store: any MessageStore) async throws {
        var settlement = Settlement(message.lease, .suspend(until: bench.time.now + .seconds(3600)))
        settlement.isUnbegun = true
        #expect(try await store.settle([settlement]) == [.settled(.scheduled)])
    }

    static func unbegun(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(10))))
        try await store.put((1...6).map { .text("\($0)") })
        for text in ["1", "2", "3"] {
            let claim = try await claim(store)
            #expect(claim.messages.map(\.text) == [text])
            if text != "3" { try await passOn(claim.messages[0], bench, store) }
        }
        #expect(try await claim(store).nextDue.map { $0 - bench.time.now } == .seconds(10))
        bench.time.advance(to: try #require(try await claim(store).nextDue))
        // A handler that stops to wait has started.
        let held = try await store.takeOne()
        _ = try await store.give(.suspend(until: bench.time.now + .seconds(3600)), for: held)
        #expect(try await claim(store).messages.isEmpty)
        #expect(try await store.status(of: .jobs).queues.first?.latency.work.count == 1)
    }

    static func unbegunLate(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(10))))
        try await store.put((1...4).map { .text("\($0)") })
        let first = try await store.takeOne()
        bench.time.advance(by: .seconds(15))
        _ = try await store.takeOne()
        try await passOn(first, bench, store)
        #expect(try await claim(store).messages.isEmpty, "The time of the first start passed unused.")
        bench.time.advance(by: apart)
        #expect(try await claim(store).messages.count == 1)
    }

    static func unbegunOfGroup(_ bench: Bench) async throws {
        let store = try await bench.open(policy(perKey: Rate(1, per: .seconds(10)), .limit(5)))
        try await store.put((1...3).map { .text("\($0)", group: "a") })
        let first = try await claim(store)
        #expect(first.messages.map(\.text) == ["1"])
        #expect(try await claim(store).messages.isEmpty)
        try await passOn(first.messages[0], bench, store)
        #expect(try await claim(store).messages.map(\.text) == ["2"])
        let next = try await claim(store)
        #expect(next.messages.isEmpty && next.nextDue.map { $0 - bench.time.now } == .seconds(10))
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

    static func clocksBeforeReboots(_ bench: Bench) async throws {
        let store = try await bench.open(policy(Rate(1, per: .seconds(3600))))
        try await store.put((1...4).map { .text("\($0)") })
        #expect(try await store.take(4).count == 1)
        bench.time.set(wall: bench.time.now + .seconds(86_400))
        #expect(try await store.take(4).isEmpty)
        bench.time.reboot(after: .seconds(60))
        #expect(try await claim(store).nextDue.map { $0 - bench.time.now } == .seconds(3540))
        #expect(try await store.take(4).isEmpty, "The clock was set while the machine ran, and that is known.")
    }

    static func relaxed(_ bench: Bench) async throws {
        let slow = Rate(10, per: .seconds(86_400), burst: 20)
        let store = try await bench.open(policy(slow))
        try await store.put((1...90).map { .text("\($0)") })
        #expect(try await store.take(50).count == 20)
        #expect(try await store.take(50).isEmpty)
        try await store.configure(.jobs, .set(policy(Rate(1, per: .seconds(1)))))
        let next = try await claim(store)
        #expect(next.messages.isEmpty)
        #expect(try #require(next.nextDue) - bench.time.now <= .milliseconds(1020))
        bench.time.advance(to: try #require(next.nextDue))
        #expect(try await store.take(50).count == 1)
        // One that is stricter has its own time from now on, and its burst is not to be had at once.
        try await store.configure(.jobs, .set(policy(slow)))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(50).count <= 20)
        try await store.configure(.jobs, .set(policy(Rate(1, per: .seconds(3600)))))
        _ = try await store.take(50)
        // Without one anything starts, and a new one does not go on where the last one stood.
        try await store.configure(.jobs, .set(policy()))
        #expect(try await store.take(5).count == 5)
        try await store.configure(.jobs, .set(policy(Rate(100, per: .seconds(1)))))
        #expect(try #require(await claim(store).nextDue) - bench.time.now <= .milliseconds(11))
    }

    static func deleted(_ bench: Bench) async throws {
        let rate = policy(Rate(1, per: .seconds(3600)))
        let store = try await bench.open(rate)
        try await store.put((1...2).map { .text("\($0)") })
        #expect(try await store.take(9).count == 1)
        try await store.configure(.jobs, .delete(force: true))
        try await store.configure(.jobs, .create(rate, ifAbsent: false))
        try await store.put("new")
        #expect(try await store.takeOne().text == "new", "What the queue before it started is nothing to this one.")
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let wrong: [QueuePolicy] = [
            policy(Rate(0, per: .seconds(1))), policy(Rate(1, per: .zero)), policy(Rate(1, per: .seconds(-1))),
            policy(Rate(1, per: .seconds(31 * 24 * 3600))), policy(Rate(1, per: .seconds(1), burst: 0)),
            policy(Rate(2000, per: .milliseconds(1))), policy(perKey: Rate(1, per: .seconds(1))),
        ]
        for policy in wrong { await expect(.invalidInput) { try await store.configure(.jobs, .set(policy)) } }
        let held = try await store.putAndTake("x")
        await expect(.invalidInput) { _ = try await store.give(.retry(error: "", holdsGroup: true), for: held) }
        #expect(try await store.give(.done, for: held) == .settled(.done))
    }
}
