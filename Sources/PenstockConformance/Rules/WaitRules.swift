import PenstockCore
import PenstockTestKit
import Testing

/// What is said of a message that somebody wonders about.
enum WaitRules {
    static let cases: ConformanceCase.Rules = [
        "says of what has ended only that": ended,
        "names the worker that has a message": leased,
        "says when what is scheduled is due, and why so late": scheduled,
        "says what keeps workers from what is due": due,
        "names the tasks that a task waits for": pending,
        "names what has the permits of a group, and counts what comes before": blocked,
        "names nobody's permit while one is free": free,
        "counts in the order in which a group goes on": orders,
        "counts what is ahead": ahead,
        "names the limits that are used up": limits,
        "says when a rate lets the next one start": rates,
        "says what keeps a whole queue": closed,
        "changes nothing, and knows every message": looks,
    ]

    private static func policy(_ groups: GroupPolicy? = nil) -> QueuePolicy {
        QueuePolicy.steady { $0.groups = groups }
    }

    /// The causes without whether a worker is there, which each rule would have to see to.
    private static func causes(_ store: any MessageStore, _ sequence: SequenceNumber) async throws -> [WaitReason.Cause]
    {
        try await store.waitReason(of: sequence).causes.filter { $0 != .noWorker }
    }

    static func ended(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let dropped = try await store.put(.text("a", expiry: .after(.seconds(1)))).sequence
        bench.time.advance(by: .seconds(1))
        try await store.put("b")
        let done = try await store.work(.done)
        for (sequence, state) in [(dropped, MessageState.dropped), (done, .done)] {
            let reason = try await store.waitReason(of: sequence)
            #expect(reason.message.state == state)
            #expect(reason.message.finishedAt == bench.time.now)
            #expect(reason.causes.isEmpty)
            #expect(reason.holder == nil)
        }
    }

    static func leased(_ bench: Bench) async throws {
        let (store, doomed) = try await bench.openTwo(policy())
        let sequence = try await store.put("a")
        _ = try await doomed.takeOne()
        var reason = try await store.waitReason(of: sequence)
        let holder = try #require(reason.holder)
        #expect(holder.worker == reason.message.worker)
        #expect(holder.isAlive == true)
        #expect(!holder.name.isEmpty)
        #expect(reason.causes.isEmpty)
        _ = try await store.apply(.requestCancel(within: .seconds(30)), to: [sequence])
        #expect(try await store.waitReason(of: sequence).message.cancelRequestedAt == bench.time.now)
        try await bench.crash(doomed)
        reason = try await store.waitReason(of: sequence)
        #expect(reason.holder?.isAlive == false)
    }

    static func scheduled(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let start = bench.time.now
        let delayed = try await store.put(.text("a", due: .after(.seconds(9)))).sequence
        #expect(try await causes(store, delayed) == [.due(start + .seconds(9), .asEnqueued)])
        let retried = try await store.put("b")
        try await store.work(.retry(error: "no"))
        #expect(try await causes(store, retried) == [.due(start + .seconds(1), .retry)])
        let asleep = try await store.put("c")
        try await store.work(.suspend(until: start + .seconds(60)))
        #expect(try await causes(store, asleep) == [.due(start + .seconds(60), .suspended)])
        let awaiting = try await store.put("d")
        try await store.work(.suspend(until: start + .seconds(90), event: .named("paid")))
        #expect(
            try await causes(store, awaiting) == [.event(.named("paid")), .due(start + .seconds(90), .suspended)])

        // An attempt that failed is no reason to wait once the next one has been suspended, and the other way round.
        bench.time.advance(by: .seconds(1))
        try await store.work(.suspend(until: start + .seconds(70)))
        #expect(try await causes(store, retried) == [.due(start + .seconds(70), .suspended)])
        bench.time.advance(by: .seconds(69))
        for _ in 1...3 { try await store.work(.retry(error: "no", after: .seconds(5))) }
        #expect(try await causes(store, retried) == [.due(start + .seconds(75), .retry)])
        #expect(try await causes(store, asleep) == [.due(start + .seconds(75), .retry)])
    }

    /// It stays scheduled until a claim takes it up.
    static func due(_ bench: Bench) async throws {
        var limited = policy()
        limited.limit = 1
        let store = try await bench.open(limited)
        let start = bench.time.now
        let first = try await store.put(.text("a", due: .after(.seconds(1)))).sequence
        let since = WaitReason.Cause.due(start + .seconds(1), .asEnqueued)
        #expect(try await store.waitReason(of: first).causes == [since])
        bench.time.advance(by: .seconds(1))
        #expect(try await store.waitReason(of: first).causes == [since, .noWorker])
        _ = try await store.takeOne()
        let second = try await store.put(.text("b", due: .after(.seconds(1)))).sequence
        bench.time.advance(by: .seconds(1))
        #expect(
            try await store.waitReason(of: second).causes == [
                .due(start + .seconds(2), .asEnqueued), .limit(1, leased: 1),
            ])
    }

    static func pending(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let started = try await store.begin([("a", []), ("b", ["a"]), ("c", ["a", "b"]), ("many", [])])
        let numbers = started.receipts.map(\.sequence)
        func task(_ index: Int, _ name: String, _ state: MessageState) -> WaitReason.Cause {
            .task(WaitReason.Other(sequence: numbers[index], state: state, task: .named(name)))
        }
        #expect(try await causes(store, numbers[2]) == [task(0, "a", .ready), task(1, "b", .pending)])
        let message = try await store.takeOne()
        guard case .task(let other)? = try await causes(store, numbers[1]).first else {
            Issue.record("no task was named")
            return
        }
        #expect(other.state == .leased)
        #expect(other.holder?.isAlive == true)
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await causes(store, numbers[2]) == [task(1, "b", .ready)])
        // Of many some are named.
        let parents = (1...WaitReason.namedMax + 2).map { ("p\($0)", [String]()) }
        let wide = try await store.begin(parents + [("last", parents.map(\.0))], "wide")
        let last = try #require(wide.receipts.last)
        let found = try await causes(store, last.sequence)
        #expect(found.count == WaitReason.namedMax + 1)
        #expect(found.last == .moreTasks)
        // A dead letter that a task holds on for is what it waits for.
        let held: [NewTask] = [
            .of("dies"), .of("holds", after: [Dependency(on: .named("dies"), need: .done(whenDead: .hold))]),
        ]
        try await store.configure(.mail, .create(policy(), ifAbsent: false))
        let tasks = held.map { NewTask($0.name, queue: .mail, message: $0.message, dependencies: $0.dependencies) }
        let holding = try await store.start(NewWorkflow(.named("held"), tasks: tasks), durability: .processCrash)
        try await store.work(.dead(error: "no"), from: .mail)
        let dead = WaitReason.Other(sequence: holding.receipts[0].sequence, state: .dead, task: .named("dies"))
        #expect(try await causes(store, holding.receipts[1].sequence) == [.task(dead)])
    }

    static func blocked(_ bench: Bench) async throws {
        let store = try await bench.open(policy(.fifo(onDead: .hold)))
        for text in ["a1", "a2", "a3"] { try await store.put(.text(text, group: "a")) }
        let (first, second, third) = (SequenceNumber(1), SequenceNumber(2), SequenceNumber(3))
        let ready = WaitReason.Cause.permit(WaitReason.Other(sequence: first, state: .ready))
        #expect(try await causes(store, second) == [ready])
        #expect(try await causes(store, third) == [ready, .before(WaitReason.Count(1))])
        let start = bench.time.now
        try await store.work(.retry(error: "no"))
        let retried = WaitReason.Other(sequence: first, state: .scheduled, due: start + .seconds(1))
        #expect(try await causes(store, second) == [.permit(retried)])
        bench.time.advance(by: .seconds(1))
        try await store.work(.dead(error: "no"))
        #expect(try await causes(store, second) == [.permit(WaitReason.Other(sequence: first, state: .dead))])
        #expect(try await store.apply(.discard, to: [first]) == 1)
        try await store.configure(.jobs, .pauseGroup("a"))
        #expect(try await causes(store, second) == [.groupPaused])
        // Of many that have permits some are named.
        try await store.configure(.mail, .create(policy(.limit(12)), ifAbsent: false))
        let last = try await store.put((1...14).map { .text("\($0)", group: "b") }, to: .mail)[13].sequence
        let found = try await causes(store, last)
        #expect(found.count == WaitReason.namedMax + 2)
        #expect(found.suffix(2) == [.morePermits, .before(WaitReason.Count(1))])
    }

    static func free(_ bench: Bench) async throws {
        var rated = policy(.limit(3))
        rated.ratePerKey = Rate(1, per: .seconds(60))
        let store = try await bench.open(rated, mail: policy(.limit(3)))
        for queue in [QueueName.jobs, .mail] { try await store.put(.text("1", group: "a"), to: queue) }
        let late = try await store.put(.text("2", group: "a")).sequence
        let first = WaitReason.Other(sequence: SequenceNumber(1), state: .ready)
        #expect(try await causes(store, late) == [.permit(first)], "It is to start first, by the rate.")
        _ = try await store.takeOne()
        let found = try await causes(store, late)
        if case .groupRate? = found.first {} else { Issue.record("the rate of the group was not named") }
        #expect(found.count == 1)
        _ = try await store.takeOne(from: .mail)
        try await store.configure(.mail, .pauseGroup("a"))
        let paused = try await store.put(.text("2", group: "a"), to: .mail).sequence
        #expect(try await causes(store, paused) == [.groupPaused])
    }

    static func orders(_ bench: Bench) async throws {
        for (groups, before) in [(GroupPolicy.fifo(), [0, 1, 2, 3]), (.limit(1), [2, 0, 3, 1])] {
            let queue = QueueName(stored: "\(groups)")
            let store = try await bench.open()
            try await store.configure(queue, .create(policy(groups), ifAbsent: false))
            try await store.put(.text("first", group: "a"), to: queue)
            let receipts = try await store.put(
                [0, 5, 0, 5].map { .text("next", priority: $0, group: "a") }, to: queue)
            for (receipt, count) in zip(receipts, before) {
                let found = try await causes(store, receipt.sequence).dropFirst()
                #expect(found == (count == 0 ? [] : [.before(WaitReason.Count(count))]), "\(groups)")
            }
        }
    }

    static func ahead(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let receipts = try await store.put((0...WaitReason.countMax + 1).map { .text("\($0)") })
        let urgent = try await store.put(.text("urgent", priority: 3)).sequence
        #expect(try await causes(store, urgent).isEmpty)
        #expect(try await causes(store, receipts[0].sequence) == [.ahead(WaitReason.Count(1))])
        #expect(
            try await causes(store, receipts[WaitReason.countMax - 1].sequence)
                == [.ahead(WaitReason.Count(WaitReason.countMax))])
        guard case .ahead(let count)? = try await causes(store, receipts[WaitReason.countMax].sequence).first else {
            Issue.record("nothing is ahead")
            return
        }
        #expect(count.count == WaitReason.countMax)
        #expect(count.isMore)
    }

    static func limits(_ bench: Bench) async throws {
        let store = try await bench.open()
        let name = LimitName(stored: "db")
        try await store.setLimit(name, to: 2)
        var limited = policy()
        (limited.limit, limited.sharedLimit) = (1, name)
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(limited, ifAbsent: false))
            try await store.put("first", to: queue)
        }
        let sequence = try await store.put("second")
        #expect(try await causes(store, sequence) == [.ahead(WaitReason.Count(1))])
        _ = try await store.takeOne()
        #expect(try await causes(store, sequence) == [.limit(1, leased: 1)])
        _ = try await store.takeOne(from: .mail)
        #expect(try await causes(store, sequence) == [.limit(1, leased: 1), .sharedLimit(name, 2, leased: 2)])
    }

    static func rates(_ bench: Bench) async throws {
        var rated = policy(.limit(1))
        rated.rate = Rate(1, per: .seconds(10))
        rated.ratePerKey = Rate(1, per: .seconds(60))
        let store = try await bench.open(rated)
        try await store.put(.text("a1", group: "a"))
        try await store.put("free")
        let second = try await store.put(.text("a2", group: "a")).sequence
        let start = bench.time.now
        try await store.work(.done)
        guard case .rate(let opens?)? = try await causes(store, SequenceNumber(2)).first else {
            Issue.record("the queue's rate was not named")
            return
        }
        #expect(opens > start + .seconds(9) && opens < start + .seconds(11))
        guard case .groupRate(let groupOpens?)? = try await causes(store, second).first else {
            Issue.record("the rate of the group was not named")
            return
        }
        #expect(groupOpens > start + .seconds(57) && groupOpens < start + .seconds(63))
        bench.time.advance(by: .seconds(70))
        _ = try await store.take(10)
        #expect(try await store.waitReason(of: second).message.state != .blocked)
    }

    static func closed(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let sequence = try await store.put("a")
        #expect(try await store.waitReason(of: sequence).causes == [.noWorker])
        _ = try await store.work(.release)
        #expect(try await store.waitReason(of: sequence).causes.isEmpty)
        try await store.configure(.jobs, .pause)
        #expect(try await store.waitReason(of: sequence).causes == [.queuePaused])
        let later = try await store.put(.text("later", due: .after(.seconds(5)))).sequence
        #expect(try await causes(store, later) == [.queuePaused, .due(bench.time.now + .seconds(5), .asEnqueued)])
        // Nobody is left who could take it.
        try await store.configure(.jobs, .resume)
        let doomed = try await bench.open()
        try await store.close()
        let other = try await bench.open()
        _ = try await doomed.takeOne()
        try await bench.crash(doomed)
        _ = try await other.reclaim()
        #expect(try await other.waitReason(of: sequence).causes == [.noWorker])
    }

    static func looks(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let sequence = try await store.put(.text("a", expiry: .after(.seconds(1))))
        bench.time.advance(by: .seconds(1))
        let reason = try await store.waitReason(of: sequence.sequence)
        #expect(reason.message.state == .ready, "Nothing ends because somebody looks.")
        #expect(reason.message.payload == nil)
        await expect(.unknownMessage) { try await store.waitReason(of: SequenceNumber(99)) }
        await expect(.unknownMessage) { try await store.waitReason(of: SequenceNumber(0)) }
    }
}
