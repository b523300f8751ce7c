import PenstockCore
import PenstockTestKit
import Testing

/// Groups: which messages of one may be with workers.
enum GroupRules {
    static let cases: ConformanceCase.Rules = [
        "messages are found and moved by their group": byGroup,
        "with a limit are worked so many at a time, by priority": limited,
        "with a limit go on while one waits for its next attempt": limitedRetries,
        "keep their permit over the death of a worker": deaths,
        "are not moved by who has lost the lease": zombies,
        "hold up nobody else": others,
        "get the next one in the call that ends one": thenClaim,
        "get the next one when one is cancelled, replaced or dropped": leaves,
        "take room in their queue, and the oldest is dropped": capacity,
        "are given permits in a batch as one by one": batches,
        "are counted as far as is asked for": counts,
        "go with tasks, and with what a verdict brings": tasksAndDrafts,
    ]

    static func open(_ bench: Bench, _ groups: GroupPolicy, _ capacity: Capacity? = nil) async throws
        -> any MessageStore
    {
        try await bench.open(.steady { ($0.groups, $0.capacity) = (groups, capacity) })
    }

    static func limited(_ bench: Bench) async throws {
        let store = try await open(bench, .limit(2))
        for index in 1...4 { try await store.put(.text("a\(index)", group: "a")) }
        try await store.put(.text("urgent", priority: 5, group: "a"))
        let first = try await store.take(10)
        #expect(first.map(\.text) == ["a1", "a2"])
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.give(.done, for: first[1]) == .settled(.done))
        #expect(try await store.drain() == ["urgent"])
        #expect(try await store.give(.done, for: first[0]) == .settled(.done))
        #expect(try await store.drain() == ["a3"])
        #expect(try await store.depths() == .of(blocked: 1, leased: 2, kept: 2))
    }

    static func limitedRetries(_ bench: Bench) async throws {
        let store = try await open(bench, .limit(1))
        for text in ["a1", "a2", "a3"] { try await store.put(.text(text, group: "a")) }
        #expect(try await store.work(.retry(error: "no")) == SequenceNumber(1))
        let a2 = try await store.takeOne()
        #expect(a2.text == "a2")
        bench.time.advance(by: .seconds(1))
        // Due again, it waits as the others do, and is first among them.
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(blocked: 2, leased: 1))
        #expect(try await store.give(.done, for: a2) == .settled(.done))
        #expect(try await store.work(.done) == SequenceNumber(1))
        #expect(try await store.drain() == ["a3"])
    }

    static func deaths(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        let doomed = try await bench.open()
        #expect(try await doomed.takeOne().text == "a1")
        try await bench.crash(doomed)
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.reclaim().fromDeadWorkers == 1)
        #expect(try await store.depths() == .of(blocked: 1, ready: 1))
        let again = try await store.takeOne(lease: .seconds(5))
        #expect(again.text == "a1")
        bench.time.advance(by: .seconds(5))
        #expect(try await store.reclaim().fromExpiredLeases == 1)
        #expect(try await store.work(.done) == again.sequence)
        #expect(try await store.drain() == ["a2"])
    }

    static func zombies(_ bench: Bench) async throws {
        let store = try await open(bench, .limit(1))
        for text in ["a1", "a2", "a3"] { try await store.put(.text(text, group: "a")) }
        let zombie = try await store.takeOne(lease: .seconds(5))
        bench.time.advance(by: .seconds(5))
        _ = try await store.reclaim()
        let again = try await store.takeOne()
        #expect(again.sequence == zombie.sequence)
        for verdict in [Verdict.done, .release, .retry(error: "no"), .dead(error: "no")] {
            #expect(try await store.give(verdict, for: zombie) == .leaseLost)
        }
        #expect(try await store.depths() == .of(blocked: 2, leased: 1))
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.permitted) == [1])
        #expect(try await store.apply(.cancel, to: [again.sequence]) == 1)
        #expect(try await store.give(.done, for: again) == .leaseLost)
        #expect(try await store.depths() == .of(blocked: 1, ready: 1, kept: 1))
    }

    static func others(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        try await store.put((1...500).map { .text("a\($0)", priority: 9, group: "a") })
        try await store.put(.text("b", group: "b"))
        try await store.put(.text("free"))
        #expect(try await store.drain() == ["a1", "b", "free"])
    }

    static func thenClaim(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.takeOne()
        #expect(try await store.give(.done, for: a1, thenTake: 5).map(\.text) == ["a2"])
    }

    static func leaves(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        let a1 = try await store.put(.text("a1", key: "k", group: "a")).sequence
        for text in ["a2", "a3", "a4"] { try await store.put(.text(text, group: "a")) }
        let replacing = try await store.put(.text("b", key: "k", onConflict: .replace, group: "b"))
        #expect(replacing.displaced == a1)
        #expect(try await store.state(of: SequenceNumber(2)) == .ready)
        #expect(try await store.apply(.cancel, to: [SequenceNumber(2)]) == 1)
        #expect(try await store.state(of: SequenceNumber(3)) == .ready)
        // All of them at once: one that comes to be ready on the way is cancelled as well.
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.blocked, .ready])) == 3)
        #expect(try await store.depths() == .of(kept: 5))
        #expect(try await store.groups(GroupQuery(queue: .jobs)).isEmpty)
    }

    static func capacity(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo(), Capacity(3, whenFull: .dropOldest))
        try await store.put(.text("b1", due: .after(.seconds(1)), group: "b"))
        try await store.put(.text("a1", priority: -5, group: "a"))
        try await store.put(.text("a2", priority: 5, group: "a"))
        #expect(try await store.depths() == .of(scheduled: 1, blocked: 1, ready: 1))
        let receipt = try await store.put(.text("c1", group: "c"))
        #expect(receipt.displaced == SequenceNumber(2))
        #expect(try await store.state(of: SequenceNumber(3)) == .ready)
        let a2 = try await store.takeOne()
        #expect(a2.text == "a2")
        try await store.put(.text("a3", group: "a"))
        #expect(try await store.put(.text("a4", group: "a")).displaced == SequenceNumber(4))
        #expect(try await store.put(.text("a5", group: "a")).displaced == SequenceNumber(5))
        #expect(try await store.depths() == .of(scheduled: 1, blocked: 2, leased: 1, kept: 3))
        try await store.configure(.jobs, .set(.steady(3, .fail) { $0.groups = .fifo() }))
        await expect(.queueFull) { try await store.put(.text("a6", group: "a")) }
    }

    static func batches(_ bench: Bench) async throws {
        let store = try await open(bench, .limit(2))
        let groups = ["a", "b", nil, "a", "a", "b", "é", "e\u{301}", "a", nil]
        let receipts = try await store.put(
            groups.enumerated().map { .text("\($0)", priority: $0 % 3, group: $1) })
        let states = receipts.map { $0.state == .blocked }
        #expect(states == [false, false, false, false, true, false, false, false, true, false])
        #expect(try await store.depths() == .of(blocked: 2, ready: 8))
        let more = try await store.put((0..<3).map { .text("more \($0)", group: "b") })
        #expect(more.map(\.state) == [.blocked, .blocked, .blocked])
        let records = try await store.groups(GroupQuery(queue: .jobs))
        #expect(records.map(\.key) == ["a", "b", "e\u{301}", "é"])
        #expect(records.map(\.permitted) == [2, 2, 1, 1])
        #expect(records.map(\.blocked) == [2, 3, 0, 0])
        #expect(try await store.groups(GroupQuery(queue: .jobs, after: "a", limit: 1)).map(\.key) == ["b"])
        #expect(try await store.groups(GroupQuery(queue: .jobs, key: "a")).map(\.blocked) == [2])
        #expect(try await store.groups(GroupQuery(queue: .jobs, key: "z")).isEmpty)
    }

    static func counts(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        for group in ["a", "a", "a", "a", "b", "b"] { try await store.put(.text(group, group: group)) }
        let counted: [(Int?, [Int])] = [(1, [1, 1]), (2, [2, 1]), (3, [3, 1]), (9, [3, 1]), (nil, [3, 1])]
        for (countMax, blocked) in counted {
            let groups = try await store.groups(GroupQuery(queue: .jobs, limit: 10, countMax: countMax))
            #expect(groups.map(\.blocked) == blocked, "\(String(describing: countMax))")
            #expect(groups.map(\.permitted) == [1, 1])
        }
        let query = GroupQuery(queue: .jobs, key: "b", limit: 10, countMax: 1)
        #expect(try await store.groups(query).map(\.key) == ["b"])
        for countMax in [0, -1, Int.min] {
            let query = GroupQuery(queue: .jobs, limit: 10, countMax: countMax)
            await expect(.invalidInput) { try await store.groups(query) }
        }
    }

    static func tasksAndDrafts(_ bench: Bench) async throws {
        let store = try await open(bench, .fifo())
        let names = ["first", "second", "third"].map { TaskName(stored: $0) }
        let tasks = [
            NewTask(names[0], queue: .jobs, message: .text("first", group: "a")),
            NewTask(names[1], queue: .jobs, message: .text("second", group: "a")),
            NewTask(
                names[2], queue: .jobs, message: .text("third", group: "a"), dependencies: [Dependency(on: names[0])]),
        ]
        _ = try await store.start(NewWorkflow(nil, tasks: tasks), durability: .processCrash)
        #expect(try await store.depths() == .of(pending: 1, blocked: 1, ready: 1))
        let first = try await store.takeOne()
        let draft = Draft(.text("after", group: "a"), to: .jobs)
        let results = try await store.settle([Settlement(first.lease, .done, drafts: [draft])])
        #expect(results == [.settled(.done)])
        #expect(try await store.depths() == .of(blocked: 2, ready: 1, kept: 1))
        for text in ["second", "third", "after"] {
            let message = try await store.takeOne()
            #expect(message.text == text)
            #expect(try await store.give(.done, for: message) == .settled(.done))
        }
    }

    static func byGroup(_ bench: Bench) async throws {
        let store = try await open(bench, .limit(1))
        let keys = ["a", "b", nil, "a", "\u{E9}", "e\u{301}", "a", "b"]
        for (index, key) in keys.enumerated() { try await store.put(.text("\(index + 1)", group: key)) }
        func found(_ query: MessageQuery) async throws -> [Int64] {
            try await store.messages(query).map(\.sequence.rawValue)
        }
        #expect(try await found(MessageQuery(queue: .jobs, group: "a")) == [1, 4, 7])
        #expect(try await found(MessageQuery(group: "a", states: [.blocked], end: .last, limit: 1)) == [7])
        #expect(try await found(MessageQuery(group: "a", after: SequenceNumber(1), limit: 1)) == [4])
        #expect(try await found(MessageQuery(group: "\u{E9}")) == [5], "Keys are compared byte by byte.")
        #expect(try await found(MessageQuery(sequences: [1, 2].map { SequenceNumber($0) }, group: "b")) == [2])
        #expect(try await found(MessageQuery(group: "none")) == [])
        await expect(.invalidInput) { try await store.messages(MessageQuery(group: "")) }
        await expect(.invalidInput) {
            try await store.apply(.cancel, to: .queue(.jobs, states: [.ready], group: ""))
        }

        let waiting: Set<MessageState> = [.ready, .blocked]
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: waiting, group: "a", limit: 2)) == 2)
        #expect(try await found(MessageQuery(states: [.cancelled])) == [1, 4])
        #expect(try await store.state(of: SequenceNumber(7)) == .ready, "Its group goes on.")
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: waiting, group: "b")) == 2)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: waiting, group: "e\u{301}")) == 1)
        #expect(try await found(MessageQuery(states: waiting)) == [3, 5, 7])
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: waiting, group: "none")) == 0)
    }
}
