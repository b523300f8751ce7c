import PenstockCore
import PenstockTestKit
import Testing

/// Queues that their groups share fairly.
enum FairRules {
    static let cases: ConformanceCase.Rules = [
        "let who comes new pass a backlog": newcomers,
        "serve each of equal groups within as many claims": equal,
        "serve groups as they weigh": weights,
        "save nothing up for who was away": away,
        "go by priority first": priorities,
        "take messages without a group for one": groupless,
        "give a message that a worker gives back its own turn": returns,
        "go on from the highest turn, though one before it is claimed last": behindTheHighest,
        "charge nothing for what has not started": unstarted,
        "charge nothing for what was to be tried again and has not started": unstartedAgain,
        "charge a group for what is tried again": chargedAgain,
        "give messages their turn when they become ready": whenReady,
        "give tasks that become ready together a turn each": tasksTogether,
        "let who comes new pass what is tried again": triedAgain,
        "share each priority by itself": eachPriority,
        "keep the order of groups in order": inOrder,
        "that are shared no more go on in the order of the log": noMore,
        "drop the oldest message, whatever its turn": overflow,
        "refuse weights that are none": doors,
    ]

    static func policy(_ change: (inout QueuePolicy) -> Void = { _ in }) -> QueuePolicy {
        var policy = QueuePolicy.steady()
        policy.isFair = true
        change(&policy)
        return policy
    }

    private static func put(_ store: any MessageStore, _ group: String, _ numbers: ClosedRange<Int>) async throws {
        try await store.put(numbers.map { .text("\(group)\($0)", group: group) })
    }

    /// Tasks without a group are one group together, also when one end lets all of them go on.
    static func tasksTogether(_ bench: Bench) async throws {
        let store = try await bench.open(policy(), mail: .steady())
        try await put(store, "a", 1...4)
        let names = (1...4).map { "t\($0)" }
        let children = names.map { NewTask.of($0, after: [Dependency(on: .named("root"))]) }
        let tasks = [NewTask.of("root", queue: .mail)] + children
        try await store.begin(tasks: tasks)
        try await store.work(.done, from: .mail)
        #expect(try await store.take(9).map(\.text) == ["a1", "t1", "a2", "t2", "a3", "t3", "a4", "t4"])
    }

    static func newcomers(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...500)
        #expect(try await store.take(3).map(\.text) == ["a1", "a2", "a3"])
        try await put(store, "b", 1...3)
        try await put(store, "c", 1...2)
        // Those of one turn go by the log.
        #expect(try await store.take(8).map(\.text) == ["b1", "c1", "a4", "b2", "c2", "a5", "b3", "a6"])
        #expect(try await store.take(2).map(\.text) == ["a7", "a8"])
    }

    /// However much each has, and in whatever portions it came.
    static func equal(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let groups = ["a", "b", "c", "d", "e"]
        for (index, group) in groups.enumerated() { try await put(store, group, 1...(10 + 20 * index)) }
        for _ in 1...10 {
            let round = try await store.take(5)
            #expect(Set(round.compactMap(\.group)) == Set(groups))
        }
        #expect(try await Set(store.take(4).compactMap(\.group)) == Set(groups.dropFirst()))
    }

    static func weights(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await store.configure(.jobs, .setGroupWeight("a", 3))
        try await store.configure(.jobs, .setGroupWeight("z", 7))
        try await put(store, "a", 1...40)
        try await put(store, "b", 1...40)
        let first = try await store.take(40).compactMap(\.group)
        #expect(first.count { $0 == "a" } == 30)
        let groups = try await store.groups(GroupQuery(queue: .jobs))
        #expect(groups.map(\.key) == ["a", "z"])
        #expect(groups.map(\.weight) == [3, 7])
        #expect(try await store.groups(GroupQuery(queue: .jobs, key: "a")).map(\.weight) == [3])
        try await store.configure(.jobs, .setGroupWeight("a", 1))
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.key) == ["z"])
    }

    static func away(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...3)
        try await put(store, "b", 1...30)
        #expect(try await store.take(20).count == 20)
        try await put(store, "a", 4...20)
        let next = try await store.take(12).compactMap(\.group)
        #expect(next.count { $0 == "a" } == 6)
    }

    static func priorities(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...3)
        try await store.put([.text("b1", priority: 5, group: "b"), .text("a0", priority: 5, group: "a")])
        #expect(try await store.take(5).map(\.text) == ["b1", "a0", "a1", "a2", "a3"])
    }

    static func groupless(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await store.put((1...20).map { .text("\($0)") })
        try await put(store, "a", 1...2)
        #expect(try await store.take(5).map(\.text) == ["1", "a1", "2", "a2", "3"])
    }

    static func returns(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...20)
        let held = try await store.take(2)
        try await put(store, "b", 1...2)
        _ = try await store.take(3)
        #expect(try await store.give(.release, for: held[0]) == .settled(.ready))
        #expect(try await store.give(.retry(error: "", after: .seconds(5)), for: held[1]) == .settled(.scheduled))
        bench.time.advance(by: .seconds(5))
        let next = try await store.take(3).map(\.text)
        #expect(next == ["a1", "a2", "a4"])
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 16)
        #expect(try await store.depths().ready == 0)
    }

    /// Otherwise a group that comes then would pass others by as many messages as they have had.
    static func behindTheHighest(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...30)
        let held = try await store.take(20)
        #expect(try await store.give(.release, for: held[0]) == .settled(.ready))
        #expect(try await store.takeOne().text == "a1")
        try await put(store, "b", 1...9)
        #expect(try await store.take(3).map(\.text) == ["b1", "a21", "b2"])
    }

    /// Has messages of group a fail, and puts them in line again, from the turn on that was claimed last.
    private static func fail(_ messages: some Sequence<ClaimedMessage>, _ bench: Bench, _ store: any MessageStore)
        async throws
    {
        for message in messages {
            #expect(try await store.give(.retry(error: "", after: .seconds(1)), for: message) == .settled(.scheduled))
        }
        bench.time.advance(by: .seconds(1))
        // Any claim puts in line what is due, also one that takes something else.
        try await store.put(.text("urgent", priority: 5, group: "u"))
        #expect(try await store.takeOne().text == "urgent")
    }

    static func unstartedAgain(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...20)
        let messages = try await store.take(20)
        try await fail(messages.dropLast(), bench, store)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 19)
        try await put(store, "c", 1...3)
        try await fail(messages.suffix(1), bench, store)
        #expect(try await store.take(4).map(\.text) == ["a20", "c1", "c2", "c3"])
    }

    static func chargedAgain(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...10)
        try await fail(try await store.take(10), bench, store)
        try await put(store, "a", 11...11)
        try await put(store, "b", 1...3)
        #expect(try await store.take(4).map(\.text) == ["a1", "b1", "a2", "b2"], "a11 comes behind all of its group.")
    }

    static func unstarted(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...30)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 30)
        try await store.put((1...30).map { _ in .text("late", group: "b", expiry: .after(.seconds(1))) })
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take().isEmpty)
        try await put(store, "c", 1...30)
        for _ in 1...30 {
            let key = UniqueKey("k", onConflict: .replace)
            try await store.put(NewMessage(payload: Array("d".utf8), uniqueKey: key, group: "d"))
        }
        try await put(store, "a", 31...31)
        try await put(store, "b", 1...1)
        #expect(try await store.take(5).map(\.text) == ["c1", "d", "a31", "b1", "c2"])
    }

    static func whenReady(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await store.put((1...30).map { .text("a\($0)", due: .after(.seconds(60)), group: "a") })
        try await put(store, "a", 31...32)
        try await put(store, "b", 1...90)
        #expect(
            try await store.take(4).map(\.text) == ["a31", "b1", "a32", "b2"], "What is due later is not ahead of it.")
        #expect(try await store.take(40).count == 40)
        bench.time.advance(by: .seconds(60))
        try await put(store, "c", 1...1)
        let next = try await store.take(12)
        #expect(next.prefix(3).contains { $0.text == "c1" }, "What was due later has saved nothing up.")
        #expect((5...6).contains(next.count { $0.group == "a" }))
    }

    static func triedAgain(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "a", 1...20)
        for message in try await store.take(20) {
            #expect(try await store.give(.retry(error: "", after: .seconds(1)), for: message) == .settled(.scheduled))
        }
        try await put(store, "a", 21...40)
        try await put(store, "b", 1...40)
        bench.time.advance(by: .seconds(1))
        let first = try await store.take(30)
        #expect(first.count { $0.group == "b" } >= 10, "One share for what is tried again, and one for the rest.")
        #expect(first.count { $0.attempt == 2 } >= 9, "They are not behind all that their group has waiting.")
        try await put(store, "c", 1...1)
        #expect(try await store.take(4).contains { $0.group == "c" })
    }

    static func eachPriority(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        try await put(store, "b", 1...30)
        try await store.put((1...30).map { .text("a\($0)", priority: 9, group: "a") })
        #expect(try await Set(store.take(30).map(\.group)) == ["a"])
        try await put(store, "c", 1...2)
        #expect(try await store.take(4).map(\.text) == ["b1", "c1", "b2", "c2"])
    }

    static func inOrder(_ bench: Bench) async throws {
        let store = try await bench.open(policy { $0.groups = .fifo() })
        try await put(store, "a", 1...4)
        try await put(store, "b", 1...2)
        var texts: [String] = []
        for _ in 1...6 {
            let message = try await store.takeOne()
            texts.append(message.text)
            #expect(try await store.give(.done, for: message) == .settled(.done))
        }
        #expect(texts == ["a1", "b1", "a2", "b2", "a3", "a4"])
    }

    static func noMore(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put(["1", "2"].map { .text($0) })
        try await store.configure(.jobs, .set(policy()))
        try await put(store, "a", 1...3)
        try await put(store, "b", 1...1)
        try await store.put(.text("due", due: .after(.seconds(1))))
        try await store.configure(.jobs, .set(.steady()))
        try await store.put(["3", "4"].map { .text($0) })
        bench.time.advance(by: .seconds(1))
        // What came before turns were given has none, and what came after, or is due then, has the last one.
        #expect(try await store.take(10).map(\.text) == ["1", "2", "a1", "b1", "a2", "a3", "due", "3", "4"])
        try await store.configure(.jobs, .set(policy()))
        try await put(store, "b", 2...2)
        #expect(try await store.takeOne().text == "b2")
    }

    static func overflow(_ bench: Bench) async throws {
        let store = try await bench.open(policy { $0.capacity = Capacity(4, whenFull: .dropOldest) })
        try await put(store, "a", 1...3)
        try await put(store, "b", 1...2)
        #expect(
            try await store.messages(MessageQuery(queue: .jobs, states: [.dropped])).map(\.sequence.rawValue) == [1])
        let ready = try await store.messages(MessageQuery(queue: .jobs, states: [.ready], limit: 3))
        #expect(ready.map(\.sequence.rawValue) == [2, 3, 4])
        #expect(try await store.drain() == ["b1", "a2", "b2", "a3"])
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        for weight in [0, -1, 1001] {
            await expect(.invalidInput) { try await store.configure(.jobs, .setGroupWeight("a", weight)) }
        }
        await expect(.invalidInput) { try await store.configure(.jobs, .setGroupWeight("", 2)) }
        await expect(.invalidInput) { try await store.configure(.jobs, .pauseGroup("a")) }
        try await store.configure(.jobs, .set(.steady()))
        await expect(.invalidInput) { try await store.configure(.jobs, .setGroupWeight("a", 2)) }
        await expect(.invalidInput) { try await store.put(.text("x", group: "a")) }
    }
}
