import PenstockCore
import PenstockTestKit
import Testing

/// Rates of the groups of a queue, and groups that workers put off.
enum GroupRateRules {
    static let cases: ConformanceCase.Rules = [
        "of groups leave others alone": groups,
        "of groups hold in every window": groupWindows,
        "of groups count what has started, though nothing waits behind it": countedWithNothingBehind,
        "of groups put one message in line at a time": oneReady,
        "of groups in order keep the order": inOrder,
        "of groups end with the policy": ended,
        "can be put off by a worker": holds,
        "that are put off block what is ready": holdsReady,
        "that are put off go on when they are resumed": resumed,
        "that are put off go by a wall clock that is put right": clockPutRight,
        "of groups go on when the machine is started anew": groupReboots,
    ]

    static func resumed(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(nil, .limit(2)))
        try await store.put((1...3).map { .text("\($0)", group: "a") })
        let hold = Verdict.retry(error: "429", after: .seconds(86_400), holdsGroup: true)
        #expect(try await store.give(hold, for: store.takeOne()) == .settled(.scheduled))
        let query = GroupQuery(queue: .jobs)
        let until = bench.time.now + .seconds(86_400)
        #expect(
            try await store.groups(query) == [
                GroupRecord(key: "a", permitted: 0, blocked: 2, isPaused: false, heldUntil: until)
            ])
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes.contains(.groupHeld(until: until)))
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.groups(query).map(\.heldUntil) == [nil])
        for message in try await store.take(9) {
            #expect(["2", "3"].contains(message.text))
            #expect(try await store.give(.done, for: message) == .settled(.done))
        }
        // A shorter one does not end a longer one, and a clock that is set moves it as it moves due messages.
        try await store.put(.text("4", group: "b"))
        try await store.put(.text("5", group: "b"))
        let both = try await store.take(9)
        #expect(try await store.give(hold, for: both[0]) == .settled(.scheduled))
        let short = Verdict.retry(error: "429", after: .seconds(1), holdsGroup: true)
        #expect(try await store.give(short, for: both[1]) == .settled(.scheduled))
        bench.time.advance(by: .seconds(3600))
        #expect(try await store.take(9).isEmpty)
        bench.time.set(wall: until)
        bench.time.advance(by: .seconds(86_400))
        #expect(try await store.drain().sorted() == ["1", "4", "5"])
    }

    /// A claim under a wrong clock must not make it later for good.
    static func clockPutRight(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(nil, .limit(2)))
        try await store.put((1...2).map { .text("\($0)", group: "a") })
        let hold = Verdict.retry(error: "429", after: .seconds(4), holdsGroup: true)
        #expect(try await store.give(hold, for: store.takeOne()) == .settled(.scheduled))
        let right = bench.time.now
        bench.time.set(wall: right - .seconds(365 * 86_400))
        #expect(try await store.take(9).isEmpty)
        bench.time.set(wall: right + .seconds(3))
        let claim = try await RateRules.claim(store)
        #expect(claim.messages.isEmpty)
        #expect(claim.nextDue.map { $0 - bench.time.now } == .seconds(1))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.drain().sorted() == ["1", "2"])
    }

    static func groupReboots(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(60)), .limit(9)))
        try await store.put((1...2).map { .text("\($0)", group: "a") })
        #expect(try await store.take(9).map(\.text) == ["1"])
        #expect(try await store.take(9).isEmpty)
        bench.time.reboot(after: .seconds(30))
        let next = try await RateRules.claim(store)
        #expect(next.messages.isEmpty)
        #expect(next.nextDue.map { $0 - bench.time.now } == .seconds(30))
        bench.time.advance(by: .seconds(30))
        #expect(try await store.take(9).map(\.text) == ["2"])
    }

    static func groups(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .limit(10)))
        let texts = ["a", "b"].flatMap { key in (1...3).map { (key, "\(key)\($0)") } }
        try await store.put(texts.map { .text($0.1, group: $0.0) })
        try await store.put(.text("free"))
        #expect(try await store.depths() == .of(blocked: 4, ready: 3))
        let first = try await RateRules.claim(store)
        #expect(first.messages.map(\.text) == ["a1", "b1", "free"])
        #expect(first.nextDue.map { $0 - bench.time.now } == .seconds(10))
        bench.time.advance(by: .seconds(4))
        try await store.put(.text("c1", group: "c"))
        #expect(try await store.take(9).map(\.text) == ["c1"])
        bench.time.advance(by: .seconds(6))
        #expect(try await store.take(9).map(\.text) == ["a2", "b2"])
        #expect(try await RateRules.claim(store).nextDue.map { $0 - bench.time.now } == RateRules.apart)
    }

    static func groupWindows(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(4, per: .seconds(2), burst: 2), .limit(1000)))
        try await store.put((1...40).map { .text("\($0)", group: $0.isMultiple(of: 2) ? "a" : "b") })
        var byGroup: [String?: [Timestamp]] = [:]
        while byGroup.values.reduce(0, { $0 + $1.count }) < 40 {
            let claim = try await RateRules.claim(store)
            for message in claim.messages { byGroup[message.group, default: []].append(bench.time.now) }
            if claim.messages.isEmpty { bench.time.advance(to: try #require(claim.nextDue)) }
        }
        for starts in byGroup.values {
            RateRules.expectRate(starts, 5, in: .seconds(2))
            #expect(try #require(starts.last) - starts[0] <= .seconds(10))
        }
    }

    /// A claim forgets groups that have started nothing for long, and no others.
    static func countedWithNothingBehind(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .limit(9)))
        for key in ["a", "b"] {
            try await store.put(.text(key, group: key))
            #expect(try await store.take(9).map(\.text) == [key])
        }
        #expect(try await store.put(.text("next", group: "a")).state == .blocked)
        #expect(try await store.take(9).isEmpty)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(9).map(\.text) == ["next"])
    }

    static func oneReady(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(1)), .limit(10)))
        try await store.put((1...3).map { .text("\($0)", group: "a") })
        bench.time.advance(by: .seconds(100))
        #expect(try await store.depths() == .of(blocked: 2, ready: 1), "Time alone puts no second one in line.")
        // The one in line is gone, and the next has its place, as nothing has started.
        #expect(try await store.apply(.cancel, to: .sequences([SequenceNumber(1)])) == 1)
        #expect(try await store.take(9).map(\.text) == ["2"])
        #expect(try await store.take(9).isEmpty)
    }

    static func inOrder(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .fifo()))
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
        bench.time.advance(by: RateRules.apart)
        #expect(try await store.takeOne().text == "2")
    }

    static func ended(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(3600)), .limit(2)))
        try await store.put((1...5).map { .text("\($0)", group: "a") })
        #expect(try await store.take(9).count == 1)
        #expect(try await store.take(9).isEmpty)
        try await store.configure(.jobs, .set(RateRules.policy(nil, .limit(2))))
        #expect(try await store.take(9).map(\.text) == ["2"])
        try await store.configure(.jobs, .set(RateRules.policy(perKey: Rate(1, per: .seconds(1)), .limit(4))))
        #expect(
            try await store.take(9).isEmpty, "What the other rate has let start asks for no more than this one's time.")
        bench.time.advance(by: .seconds(2))
        #expect(try await store.take(9).map(\.text) == ["3"])
        try await store.configure(.jobs, .set(RateRules.policy()))
        #expect(try await store.take(9).map(\.text) == ["4", "5"])
    }

    static func holds(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(nil, .limit(2)))
        try await store.put((1...4).map { .text("a\($0)", group: "a") } + [.text("b1", group: "b")])
        let held = try await store.take(9)
        #expect(held.map(\.text) == ["a1", "a2", "b1"])
        let hold = Verdict.retry(error: "429", after: .seconds(30), holdsGroup: true)
        #expect(try await store.give(hold, for: held[0]) == .settled(.scheduled))
        #expect(try await store.give(.done, for: held[1]) == .settled(.done))
        let claim = try await RateRules.claim(store)
        #expect(claim.messages.isEmpty)
        #expect(claim.nextDue.map { $0 - bench.time.now } == .seconds(30))
        bench.time.advance(by: .seconds(30))
        #expect(try await store.take(9).map(\.text) == ["a3", "a4"])
        // Without a group it is a retry like any other.
        let free = try await store.putAndTake(.text("free"))
        #expect(try await store.give(hold, for: free) == .settled(.scheduled))
        try await store.put(.text("next"))
        #expect(try await store.takeOne().text == "next")
    }

    static func holdsReady(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(nil, .limit(3)))
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
}
