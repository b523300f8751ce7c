import PenstockCore
import PenstockTestKit
import Testing

/// Groups whose messages are worked one at a time, and in the order of the log.
enum GroupOrderRules {
    static let cases: ConformanceCase.Rules = [
        "in order are worked one at a time": oneAtATime,
        "in order wait for one that is tried again": retries,
        "in order let a message join when it is due": delayed,
        "in order let all join that are due, however many": manyDue,
        "in order begin while many are to join": manyDueAtOnce,
        "in order go on after a dead letter, or are held by it": onDead,
        "in order take a redriven message by its number": redriven,
        "in order go on with what has begun, if only with a step": suspended,
        "in order go on with what has begun after a pause": pausedMeanwhile,
    ]

    static func oneAtATime(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        for (text, group) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
            let state: MessageState = text.hasSuffix("1") ? .ready : .blocked
            #expect(try await store.put(.text(text, group: group)).state == state)
        }
        #expect(try await store.put(.text("free")).state == .ready)
        #expect(try await store.depths() == .of(blocked: 2, ready: 3))
        let first = try await store.take(10)
        #expect(first.map(\.text) == ["a1", "b1", "free"])
        #expect(first.map(\.group) == ["a", "b", nil])
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.give(.done, for: first[0]) == .settled(.done))
        let second = try await store.take(10)
        #expect(second.map(\.text) == ["a2"])
        #expect(try await store.record(second[0].sequence).group == "a")
        #expect(try await store.give(.dead(error: "bad"), for: second[0]) == .settled(.dead))
        #expect(try await store.drain() == ["a3"])
    }

    static func retries(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.takeOne()
        #expect(try await store.give(.retry(error: "no"), for: a1) == .settled(.scheduled))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(scheduled: 1, blocked: 1))
        bench.time.advance(by: .seconds(1))
        let again = try await store.takeOne()
        #expect(again.text == "a1")
        #expect(try await store.give(.release, for: again) == .settled(.ready))
        #expect(try await store.drain() == ["a1"])
        #expect(try await store.depths() == .of(blocked: 1, leased: 1))
    }

    static func delayed(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        try await store.put(.text("a1", due: .after(.seconds(10)), group: "a"))
        for text in ["a2", "a3"] { try await store.put(.text(text, group: "a")) }
        let a2 = try await store.takeOne()
        #expect(a2.text == "a2")
        bench.time.advance(by: .seconds(10))
        // It is due, and waits for the one at work, but goes before the one behind.
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(blocked: 2, leased: 1))
        #expect(try await store.give(.done, for: a2) == .settled(.done))
        #expect(try await store.work(.done) == SequenceNumber(1))
        try await store.put(.text("a4", due: .after(.seconds(5)), group: "a"))
        try await store.put(.text("a5", group: "a"))
        #expect(try await store.work(.done) == SequenceNumber(3))
        // a5 has the permit, and its work has not begun when a4 is due.
        bench.time.advance(by: .seconds(5))
        #expect(try await store.takeOne().text == "a4")
        #expect(try await store.depths() == .of(blocked: 1, leased: 1, kept: 3))
    }

    static func manyDue(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        let start = bench.time.now
        // The first of the group is due last, behind more than one claim puts in line.
        try await store.put(.text("a1", due: .at(start + .seconds(20)), group: "a"))
        try await store.put(.text("a2", due: .at(start + .seconds(10)), group: "a"))
        try await store.put(
            (1...Limits.promotionCountMax).map { .text("\($0)", due: .at(start + .seconds(15)), group: "\($0)") })
        bench.time.advance(by: .seconds(30))

        let request = ClaimRequest(queue: .jobs, limit: 2000, lease: .seconds(30))
        let none = try await store.claim(request)
        #expect(none.messages.isEmpty, "a1 is due, and not in line yet.")
        #expect(none.nextDue == bench.time.now, "Claim again at once.")
        let first = try await store.claim(request)
        let texts = first.messages.map(\.text)
        #expect(texts == ["a1"] + (1...Limits.promotionCountMax).map { "\($0)" })
        #expect(try await store.depths() == .of(blocked: 1, leased: texts.count))
        let a1 = try #require(first.messages.first)
        #expect(try await store.give(.done, for: a1) == .settled(.done))
        #expect(try await store.drain() == ["a2"])
    }

    static func manyDueAtOnce(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        let start = bench.time.now
        let due = Due.at(start + .seconds(15))
        try await store.put(.text("later", due: .at(start + .seconds(3600)), group: "a"))
        let count = 2 * Limits.promotionCountMax + 1
        try await store.put((1...count).map { .text("\($0)", due: due, group: "\($0 % 2)") })
        try await store.put(.text("c1", due: due, group: "c"))
        try await store.put(.text("c2", group: "c"))
        bench.time.advance(by: .seconds(30))

        // Of these all that comes first is in line, and c2 is ready, but c1 is not in line.
        let request = ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(30))
        let first = try await store.claim(request)
        #expect(first.messages.map(\.text) == ["1", "2"])
        #expect(first.nextDue == bench.time.now, "Claim again at once.")
        let second = try await store.claim(request)
        #expect(second.messages.isEmpty)
        #expect(second.nextDue == bench.time.now, "Claim again at once.")
        let third = try await store.claim(request)
        #expect(third.messages.map(\.text) == ["c1"])
        #expect(third.nextDue == start + .seconds(3600))
        #expect(try await store.depths() == .of(scheduled: 1, blocked: count - 1, leased: 3))
    }

    static func onDead(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo(onDead: .hold))
        for text in ["a1", "a2", "a3", "a4", "a5"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.work(.dead(error: "bad"))
        #expect(try await store.take(10).isEmpty)
        let held = GroupRecord(key: "a", permitted: 1, blocked: 4, isPaused: false, heldBy: a1)
        #expect(try await store.groups(GroupQuery(queue: .jobs)) == [held])
        #expect(try await store.apply(.redrive, to: [a1]) == 1)
        #expect(try await store.work(.dead(error: "again")) == a1)
        #expect(try await store.apply(.discard, to: [a1]) == 1)
        let a2 = try await store.work(.dead(error: "bad"))
        #expect(try await store.take(10).isEmpty)
        bench.time.advance(by: .seconds(60))
        let pruned = try await store.prune(PruneRequest(retention: Retention(age: nil, deadAge: .seconds(60))))
        #expect(pruned.messages == 1)
        #expect(try await store.messages(MessageQuery(sequences: [a2])).isEmpty)
        let a3 = try await store.work(.dead(error: "bad"))
        #expect(try await store.take(10).isEmpty)
        // What holds it holds it no more.
        try await store.configure(.jobs, .set(.steady { $0.groups = .fifo(onDead: .next) }))
        #expect(try await store.work(.dead(error: "bad")) == SequenceNumber(4))
        #expect(try await store.work(.done) == SequenceNumber(5))
        #expect(try await store.state(of: a3) == .dead)
        #expect(try await store.groups(GroupQuery(queue: .jobs)).isEmpty)
    }

    static func redriven(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        for text in ["a1", "a2", "a3"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.work(.dead(error: "bad"))
        #expect(try await store.apply(.redrive, to: [a1]) == 1)
        #expect(try await store.depths() == .of(blocked: 2, ready: 1))
        let first = try await store.takeOne()
        #expect(first.sequence == a1)
        #expect(try await store.give(.done, for: first) == .settled(.done))
        #expect(try await store.drain() == ["a2"])
    }

    static func suspended(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        try await store.put(.text("a1", due: .after(.seconds(2)), group: "a"))
        let a2 = try await store.putAndTake(.text("a2", group: "a"))
        _ = try await store.record(StepName(stored: "s"), result: [], on: a2.lease, extendingBy: nil)
        #expect(
            try await store.give(.suspend(until: bench.time.now + .seconds(5)), for: a2) == .settled(.scheduled))
        bench.time.advance(by: .seconds(2))
        #expect(try await store.take(10).isEmpty)
        bench.time.advance(by: .seconds(3))
        let again = try await store.takeOne()
        #expect(again.text == "a2")
        #expect(try await store.give(.release, for: again) == .settled(.ready))
        #expect(try await store.drain() == ["a2"])
    }

    static func pausedMeanwhile(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        try await store.put(.text("a1", due: .after(.seconds(3)), group: "a"))
        for text in ["a2", "a3"] { try await store.put(.text(text, group: "a")) }
        let a2 = try await store.takeOne()
        #expect(try await store.give(.retry(error: "no", after: .seconds(1)), for: a2) == .settled(.scheduled))
        try await store.configure(.jobs, .pauseGroup("a"))
        for _ in 1...2 {
            bench.time.advance(by: .seconds(2))
            #expect(try await store.take(10).isEmpty)
        }
        #expect(try await store.depths() == .of(blocked: 3))
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.work(.done) == a2.sequence)
        #expect(try await store.work(.done) == SequenceNumber(1))
        #expect(try await store.work(.done) == SequenceNumber(3))
    }
}
