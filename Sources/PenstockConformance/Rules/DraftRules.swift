import PenstockCore
import PenstockTestKit
import Testing

/// Messages that are enqueued as another one is done.
enum DraftRules {
    static let cases: ConformanceCase.Rules = [
        "are in line once the message is done": follow,
        "are enqueued with the verdict or not at all": wholeOrNot,
        "are not enqueued by who has lost the lease": leaseLost,
        "wait for room in full queues, with their message": refusedWhenFull,
        "displace and are dropped as others are": overflow,
        "go into the queue that they come from": ownQueue,
        "come in a list with other verdicts": inAList,
        "wake who waits for them": ring,
        "are bounded as a batch is, and have no key": bounds,
        "come with what the message gave, and with tasks": besides,
    ]

    private static func done(
        _ message: ClaimedMessage, then drafts: [Draft], result: [UInt8]? = nil, _ store: any MessageStore
    ) async throws -> SettleResult {
        try await store.settle([Settlement(message.lease, .done, result: result, drafts: drafts)]).first ?? .leaseLost
    }

    static func follow(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let a = try await store.putAndTake("a")
        let urgent = NewMessage(payload: [], headers: ["trace": "42"], priority: 5, attemptsMax: 1)
        let drafts = [
            Draft(.text("1"), to: .mail), Draft(urgent, to: .mail), Draft(.text("2"), to: .jobs),
            Draft(.text("later", due: .after(.seconds(60))), to: .mail),
        ]
        #expect(try await done(a, then: drafts, store) == .settled(.done))
        #expect(try await store.state(of: a.sequence) == .done)
        #expect(try await store.depths(.mail) == .of(scheduled: 1, ready: 2))
        let first = try await store.takeOne(from: .mail)
        #expect(first.headers == ["trace": "42"])
        #expect(first.priority == 5)
        #expect(first.origin == nil)
        #expect(try await store.give(.retry(error: "no"), for: first) == .settled(.dead))
        #expect(try await store.drain(.mail) == ["1"])
        #expect(try await store.drain() == ["2"])
        bench.time.advance(by: .seconds(60))
        #expect(try await store.drain(.mail) == ["later"])
        #expect(try await store.totals(.mail).enqueued == 3)
    }

    static func wholeOrNot(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady(2))
        let a = try await store.putAndTake("a")
        let mails = ["1", "2", "3"].map { Draft(.text($0), to: .mail) }
        await expect(.queueFull) { try await done(a, then: [Draft(.text("x"), to: .jobs)] + mails, result: [1], store) }
        let stray = Draft(.text("x"), to: QueueName(stored: "nowhere"))
        await expect(.unknownQueue) { try await done(a, then: mails.prefix(1) + [stray], store) }
        for verdict in [Verdict.retry(error: "no"), .dead(error: "no"), .release] {
            await expect(.invalidInput) { try await store.settle([Settlement(a.lease, verdict, drafts: mails)]) }
        }
        #expect(try await store.state(of: a.sequence) == .leased)
        #expect(try await store.journal(of: a.sequence).result == nil)
        #expect(try await store.depths() == .of(leased: 1))
        #expect(try await store.totals(.mail) == .of())
        #expect(try await done(a, then: Array(mails.prefix(2)), store) == .settled(.done))
        #expect(try await store.drain(.mail) == ["1", "2"])
    }

    static func leaseLost(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let a = try await store.putAndTake("a")
        #expect(try await store.give(.release, for: a) == .settled(.ready))
        #expect(try await done(a, then: [Draft(.text("x"), to: .mail)], store) == .leaseLost)
        // Nothing is asked of the queue either.
        #expect(try await done(a, then: [Draft(.text("x"), to: QueueName(stored: "nowhere"))], store) == .leaseLost)
        let again = try await store.takeOne()
        #expect(try await done(again, then: [Draft(.text("y"), to: .mail)], store) == .settled(.done))
        #expect(try await done(again, then: [Draft(.text("z"), to: .mail)], store) == .leaseLost)
        #expect(try await store.drain(.mail) == ["y"])
    }

    static func refusedWhenFull(_ bench: Bench) async throws {
        for whenFull in [OverflowPolicy.fail, .wait] {
            let store = try await bench.open(.steady())
            let full = QueueName(stored: "full \(whenFull)")
            try await store.configure(full, .create(.steady(1, whenFull), ifAbsent: false))
            try await store.put("before", to: full)
            let a = try await store.putAndTake("a")
            let drafts = [Draft(.text("after"), to: full)]
            await expect(.queueFull) { try await done(a, then: drafts, store) }
            #expect(try await store.record(a.sequence).state == .leased)
            #expect(try await store.record(a.sequence).attempts.isEmpty)
            let token = store.changes.token(for: full)
            #expect(try await store.drain(full) == ["before"])
            try await store.changes.wait(for: full, after: token)
            #expect(try await done(a, then: drafts, store) == .settled(.done))
            #expect(try await store.record(a.sequence).attempt == 1)
            #expect(try await store.drain(full) == ["after"])
        }
    }

    static func overflow(_ bench: Bench) async throws {
        for (whenFull, left) in [(OverflowPolicy.dropOldest, ["1", "2"]), (.dropNewest, ["old", "1"])] {
            let store = try await bench.open(.steady())
            let full = QueueName(stored: "full \(whenFull)")
            try await store.configure(full, .create(.steady(2, whenFull), ifAbsent: false))
            try await store.put("old", to: full)
            let a = try await store.putAndTake("a")
            #expect(try await done(a, then: ["1", "2"].map { Draft(.text($0), to: full) }, store) == .settled(.done))
            #expect(try await store.drain(full) == left)
            #expect(try await store.totals(full) == .of(enqueued: 3, dropped: 1))
        }
    }

    static func ownQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .wait))
        let a = try await store.putAndTake("a")
        try await store.put("b")
        // What is leased takes no room, and its end makes none.
        await expect(.queueFull) { try await done(a, then: [Draft(.text("c"), to: .jobs)], store) }
        let b = try await store.takeOne()
        #expect(try await done(a, then: [Draft(.text("c"), to: .jobs)], store) == .settled(.done))
        #expect(try await done(b, then: [], store) == .settled(.done))
        #expect(try await store.drain() == ["c"])
    }

    static func inAList(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady(2, .wait))
        try await store.put((1...6).map { .text("\($0)") })
        let claimed = try await store.take(6)
        _ = try await store.give(.release, for: claimed[1])
        let settlements = claimed.map { message in
            Settlement(message.lease, .done, drafts: message.text == "4" ? [] : [Draft(.text(message.text), to: .mail)])
        }
        await expect(.queueFull) { try await store.settle(settlements) }
        #expect(try await store.depths() == .of(ready: 1, leased: 5))
        #expect(try await store.depths(.mail) == .of())
        #expect(
            try await store.settle(Array(settlements.prefix(4))) == [
                .settled(.done), .leaseLost, .settled(.done), .settled(.done),
            ])
        #expect(try await store.drain(.mail) == ["1", "3"])
    }

    static func ring(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let a = try await store.putAndTake("a")
        let token = store.changes.token(for: .mail)
        #expect(try await done(a, then: [Draft(.text("x"), to: .mail)], store) == .settled(.done))
        try await store.changes.wait(for: .mail, after: token)
    }

    static func bounds(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let a = try await store.putAndTake("a")
        let tooMany = Array(repeating: Draft(.text(""), to: .mail), count: Limits.batchCountMax + 1)
        await expect(.invalidInput) { try await done(a, then: tooMany, store) }
        await expect(.invalidInput) { try await done(a, then: [Draft(.text("", key: "k"), to: .mail)], store) }
        await expect(.invalidInput) { try await done(a, then: [Draft(.text("", priority: 101), to: .mail)], store) }
        await expect(.invalidInput) {
            try await done(a, then: [Draft(NewMessage(payload: [], headers: ["": ""]), to: .mail)], store)
        }
        #expect(try await store.depths(.mail) == .of())
        #expect(try await done(a, then: Array(tooMany.dropLast()), store) == .settled(.done))
        #expect(try await store.depths(.mail) == .of(ready: Limits.batchCountMax))
    }

    static func besides(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let a = try await store.takeOne()
        let settlement = Settlement(
            a.lease, .done, result: [7], added: AddedTasks([.of("c", queue: .mail)], isAwaited: false),
            drafts: [Draft(.text("x"), to: .mail)])
        #expect(try await store.settle([settlement]) == [.settled(.done)])
        #expect(try await store.journal(of: a.sequence).result == [7])
        #expect(try await store.drain(.mail) == ["c", "x"])
        #expect(try await store.drain() == ["b"])
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.name.text) == ["a", "b", "c"])
    }
}
