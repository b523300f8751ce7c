import PenstockCore
import PenstockTestKit
import Testing

/// Messages that have not started by the time they expire: which those are, and what a claim does with them.
enum ExpiryRules {
    static let cases: ConformanceCase.Rules = [
        "ends what has not started by its time, as the queue says": drops,
        "comes at its very moment, by the wall clock": moment,
        "lets a worker go on that has the message": runsOn,
        "ends what would start again after its time": startsAgain,
        "ends what is scheduled, blocked or pending": wherever,
        "gives none of many that have expired": many,
        "says when to claim again": nextDue,
        "says when to claim again while a limit keeps messages back": withheld,
        "says when to claim again while a rate keeps messages back": withheldByARate,
        "wakes who waits, to know when": rings,
        "is the same in a batch": batches,
        "is counted": counts,
        "must be a time that can be": doors,
    ]

    private static func policy(_ whenExpired: ExpiryPolicy = .drop, groups: GroupPolicy? = nil) -> QueuePolicy {
        QueuePolicy.steady { ($0.whenExpired, $0.groups) = (whenExpired, groups) }
    }

    static func drops(_ bench: Bench) async throws {
        for (whenExpired, state) in [(ExpiryPolicy.drop, MessageState.dropped), (.dead, .dead)] {
            let queue = QueueName(stored: whenExpired.rawValue)
            let store = try await bench.open()
            try await store.configure(queue, .create(policy(whenExpired), ifAbsent: false))
            let start = bench.time.now
            let sequence = try await store.put(.text("a", expiry: .after(.seconds(10))), to: queue).sequence
            try await store.put(.text("b"), to: queue)
            var record = try await store.record(sequence)
            #expect(record.state == .ready)
            #expect(record.expiresAt == start + .seconds(10))
            bench.time.advance(by: .seconds(11))
            #expect(try await store.drain(queue) == ["b"])
            record = try await store.record(sequence)
            #expect(record.state == state)
            #expect(record.reason == .expired)
            #expect(record.finishedAt == start + .seconds(11))
            #expect(record.expiresAt == start + .seconds(10))
            #expect(record.attempt == 0)
            #expect(record.attempts.isEmpty)
        }
    }

    static func moment(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let moment = bench.time.now + .seconds(10)
        for text in ["a", "b"] { try await store.put(.text(text, expiry: .at(moment))) }
        bench.time.advance(by: .seconds(10) - .microseconds(1))
        #expect(try await store.takeOne().text == "a")
        bench.time.advance(by: .microseconds(1))
        #expect(try await store.take(10).isEmpty)
        // A clock that is set back brings none back, and one that is set ahead ends what it passes.
        let c = try await store.put(.text("c", expiry: .after(.seconds(60)))).sequence
        bench.time.set(wall: bench.time.now + .seconds(-3600))
        #expect(try await store.takeOne().sequence == c)
        let d = try await store.put(.text("d", expiry: .after(.seconds(60)))).sequence
        bench.time.set(wall: bench.time.now + .seconds(60))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.state(of: d) == .dropped)
        // What is past as it comes never starts.
        let late = try await store.put(.text("late", expiry: .at(bench.time.now)))
        #expect(late.state == .ready)
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.record(late.sequence).reason == .expired)
    }

    static func runsOn(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        for text in ["a", "b"] { try await store.put(.text(text, expiry: .after(.seconds(10)))) }
        let held = try await store.take(10)
        bench.time.advance(by: .seconds(20))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.prune(PruneRequest()) == Pruned())
        #expect(try await store.extend(held.map(\.lease), by: .seconds(60)) == [true, true])
        let results = try await store.settle(held.map { Settlement($0.lease, .done) })
        #expect(results == [.settled(.done), .settled(.done)])
        #expect(try await store.depths() == .of(kept: 2))
        #expect(try await store.totals().dropped == 0)
    }

    static func startsAgain(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let verdicts: [Verdict] = [
            .release, .retry(error: "no"), .retry(error: "no", after: .seconds(50)),
            .suspend(until: bench.time.now + .seconds(50)),
        ]
        for verdict in verdicts {
            let sequence = try await store.put(.text("a", expiry: .after(.seconds(10)))).sequence
            // Before its time it starts again as often as it may.
            try await store.work(.release)
            let message = try await store.takeOne()
            #expect(message.sequence == sequence)
            bench.time.advance(by: .seconds(5))
            #expect(try await store.give(verdict, for: message) != .leaseLost)
            #expect(try await store.record(sequence).expiresAt != nil)
            bench.time.advance(by: .seconds(5))
            #expect(try await store.take(10).isEmpty, "\(verdict)")
            #expect(try await store.record(sequence).reason == .expired, "\(verdict)")
        }
        let doomed = try await bench.open()
        let lost = try await store.put(.text("lost", expiry: .after(.seconds(10)))).sequence
        let ended = try await store.put(.text("ended", expiry: .after(.seconds(10)))).sequence
        #expect(try await doomed.takeOne().sequence == lost)
        #expect(try await store.takeOne(lease: .seconds(15)).sequence == ended)
        bench.time.advance(by: .seconds(20))
        try await bench.crash(doomed)
        _ = try await store.reclaim()
        #expect(try await store.take(10).isEmpty)
        for sequence in [lost, ended] {
            let record = try await store.record(sequence)
            #expect(record.reason == .expired)
            #expect(record.attempt == 1)
            #expect(record.attempts.count == 1)
        }
        // In one call: what is given back has expired before anything is claimed.
        let last = try await store.put(.text("last", expiry: .after(.seconds(10)))).sequence
        let message = try await store.takeOne()
        bench.time.advance(by: .seconds(10))
        #expect(try await store.give(.release, for: message, thenTake: 5).isEmpty)
        #expect(try await store.record(last).reason == .expired)
    }

    static func wherever(_ bench: Bench) async throws {
        let store = try await bench.open(policy(groups: .limit(1)))
        let expiry = Expiry.after(.seconds(10))
        try await store.put(.text("scheduled", due: .after(.seconds(5)), expiry: expiry))
        try await store.put(.text("ready", group: "a", expiry: expiry))
        try await store.put(.text("blocked", group: "a", expiry: expiry))
        try await store.put(.text("stays", group: "a"))
        let tasks: [NewTask] = [
            .of("parent", due: .after(.seconds(60))),
            NewTask(
                .named("child"), queue: .jobs, message: .text("child", expiry: expiry),
                dependencies: [Dependency(on: .named("parent"))]),
        ]
        try await store.begin(tasks: tasks)
        #expect(try await store.depths() == .of(pending: 1, scheduled: 2, blocked: 2, ready: 1))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["stays"])
        #expect(try await store.depths() == .of(scheduled: 1, leased: 1, kept: 4))
        #expect(try await store.messages(MessageQuery(states: [.dropped])).allSatisfy { $0.reason == .expired })
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.permitted) == [1])
    }

    static func many(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let count = Limits.expiryCountMax + 5
        try await store.put((1...count).map { .text("\($0)", expiry: .after(.seconds(10))) })
        try await store.put("fresh")
        bench.time.advance(by: .seconds(10))
        let request = ClaimRequest(queue: .jobs, limit: 5, lease: .seconds(30))
        let first = try await store.claim(request)
        #expect(first.messages.isEmpty, "None is handed out while some that have expired are in line.")
        #expect(first.nextDue.map { $0 <= bench.time.now } == true, "Claim again at once.")
        #expect(try await store.depths() == .of(ready: 6, kept: Limits.expiryCountMax))
        #expect(try await store.claim(request).messages.map(\.text) == ["fresh"])
        #expect(try await store.depths() == .of(leased: 1, kept: count))
    }

    static func nextDue(_ bench: Bench) async throws {
        let store = try await bench.open(policy(groups: .limit(1)))
        let start = bench.time.now
        let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(600))
        try await store.put(.text("a", group: "a", expiry: .after(.seconds(5))))
        #expect(try await store.claim(request).messages.count == 1)
        #expect(try await store.claim(request).nextDue == nil, "A worker has the only one that expires.")
        try await store.put(.text("b", group: "a", expiry: .after(.seconds(20))))
        try await store.put(.text("c", due: .after(.seconds(30))))
        #expect(try await store.claim(request).nextDue == start + .seconds(20))
        try await store.put(.text("d", due: .after(.seconds(10))))
        #expect(try await store.claim(request).nextDue == start + .seconds(10))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.claim(request).nextDue == start + .seconds(20))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.claim(request).nextDue == start + .seconds(30))
        try await store.configure(.jobs, .pause)
        #expect(try await store.claim(request).nextDue == nil)
    }

    static func withheld(_ bench: Bench) async throws {
        var limited = policy()
        limited.limit = 1
        let store = try await bench.open(limited)
        let start = bench.time.now
        try await store.put("held")
        _ = try await store.takeOne(lease: .seconds(600))
        try await store.put(.text("waits", expiry: .after(.seconds(10))))
        let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(600))
        var claim = try await store.claim(request)
        #expect(claim.messages.isEmpty)
        #expect(claim.isWithheld)
        #expect(claim.nextDue == start + .seconds(10))
        bench.time.advance(by: .seconds(10))
        claim = try await store.claim(request)
        #expect(!claim.isWithheld, "Nothing is left that a limit would keep back.")
        #expect(claim.nextDue == nil)
        #expect(try await store.depths() == .of(leased: 1, kept: 1))
    }

    /// The moment at which a rate lets the next one start may come much later.
    static func withheldByARate(_ bench: Bench) async throws {
        var limited = policy()
        limited.rate = Rate(1, per: .seconds(3600))
        let store = try await bench.open(limited)
        let start = bench.time.now
        try await store.put("first")
        try await store.put(.text("waits", expiry: .after(.seconds(10))))
        let request = ClaimRequest(queue: .jobs, limit: 9, lease: .seconds(600))
        let first = try await store.claim(request)
        #expect(first.messages.map(\.text) == ["first"] && first.nextDue == start + .seconds(10))
        let second = try await store.claim(request)
        #expect(second.isWithheld && second.nextDue == start + .seconds(10))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.claim(request).messages.isEmpty)
        #expect(try await store.depths() == .of(leased: 1, kept: 1))
    }

    /// Whoever sleeps until the next due time has to hear of an earlier expiry, wherever the message waits.
    static func rings(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(policy(groups: .fifo()))
        let message = try await store.putAndTake(.text("a", group: "a"))
        var token = other.changes.token(for: .jobs)
        try await store.put(.text("b", group: "a", expiry: .after(.seconds(10))))
        try await other.changes.waitForWork(in: .jobs, after: token, room: 1)
        token = other.changes.token(for: .jobs)
        let tasks: [NewTask] = [
            .of("parent", queue: .mail),
            NewTask(
                .named("child"), queue: .jobs, message: .text("child", expiry: .after(.seconds(10))),
                dependencies: [Dependency(on: .named("parent"))]),
        ]
        try await store.configure(.mail, .create(policy(), ifAbsent: false))
        _ = try await store.start(NewWorkflow(tasks: tasks), durability: .processCrash)
        try await other.changes.waitForWork(in: .jobs, after: token, room: 1)
        #expect(try await store.give(.done, for: message) == .settled(.done))
    }

    static func batches(_ bench: Bench) async throws {
        let store = try await bench.open(policy(groups: .limit(1)))
        let expiry = Expiry.after(.seconds(10))
        try await store.put([.text("a"), .text("b", expiry: expiry), .text("c")])
        try await store.put([
            .text("d", group: "g", expiry: expiry), .text("e", group: "g", expiry: expiry), .text("f", group: "g"),
            .text("h", expiry: expiry), .text("i"),
        ])
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["a", "c", "f", "i"])
        #expect(try await store.totals().dropped == 4)
    }

    static func counts(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        for text in ["a", "b"] { try await store.put(.text(text, expiry: .after(.seconds(1)))) }
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty)
        try await store.configure(.jobs, .set(policy(.dead)))
        try await store.put(.text("c", expiry: .after(.seconds(1))))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.totals() == .of(enqueued: 3, dead: 1, dropped: 2))
        #expect(try await store.depths() == .of(dead: 1, kept: 2))
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let now = bench.time.now
        for message in [
            NewMessage.text("none", expiry: .after(.zero)), .text("negative", expiry: .after(.seconds(-1))),
            .text("nothing", expiry: .after(.nanoseconds(999))),
            .text("far", expiry: .after(Limits.delayMax + .seconds(1))),
            .text("far", expiry: .at(now + Limits.delayMax + .seconds(1))),
            .text("never", due: .after(.seconds(5)), expiry: .after(.seconds(5))),
            .text("never", due: .at(now + .seconds(5)), expiry: .at(now + .seconds(4))),
        ] {
            await expect(.invalidInput) { try await store.put(message) }
        }
        await expect(.invalidInput) {
            try await store.append(
                [.text("log", expiry: .after(.seconds(5)))], to: .jobs, unless: nil, durability: .processCrash)
        }
        #expect(try await store.depths() == .of())
        try await store.put(.text("far", expiry: .after(Limits.delayMax)))
        try await store.put(.text("late", due: .after(.seconds(5)), expiry: .after(.seconds(5) + .microseconds(1))))
        bench.time.advance(by: .seconds(5))
        #expect(try await store.drain() == ["far", "late"])
    }
}
