import PenstockCore
import PenstockTestKit
import Testing

/// Dead letters by their errors.
enum DeadGroupRules {
    static let cases: ConformanceCase.Rules = [
        "have what failed in the same way": sameWay,
        "are of a queue, or of all": byQueue,
        "are of so many dead letters": soMany,
        "are moved one by one": moveOne,
        "are as many as may be": manyGroups,
    ]

    /// A dead letter for each error, one a second.
    private static func bury(
        _ errors: [String], in store: any MessageStore, queue: QueueName = .jobs, _ bench: Bench
    ) async throws {
        for error in errors {
            bench.time.advance(by: .seconds(1))
            try await store.put("x", to: queue)
            try await store.work(.dead(error: error), from: queue)
        }
    }

    static func sameWay(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1))
        let start = bench.time.now
        try await bury(["user 7 gone\nat 1", "disk full", "  \n user 8 gone\r\nat 2", ""], in: store, bench)
        try await store.put("x")
        try await store.work(.retry(error: "user 9 gone"))
        let page = try await store.deadGroups(DeadGroupQuery())
        let rejected = ErrorSignature(.rejected, "user 1 gone")
        #expect(rejected.error == "user # gone")
        #expect(page.lookedAt == 5)
        #expect(page.next == nil)
        #expect(page.groups.count == 4)
        #expect(
            page.groups.first
                == DeadGroup(
                    queue: .jobs, signature: rejected, count: 2, firstAt: start + .seconds(1),
                    lastAt: start + .seconds(3), example: SequenceNumber(3)))
        #expect(page.groups.dropFirst().map(\.example.rawValue) == [5, 4, 2], "The largest first, then the newest.")
        #expect(page.groups[1].signature == ErrorSignature(.attemptsExhausted, "user # gone"))
        _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead]))
        #expect(try await store.deadGroups(DeadGroupQuery()) == DeadGroupPage())
    }

    static func byQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await bury(["a", "a"], in: store, bench)
        try await bury(["a"], in: store, queue: .mail, bench)
        let all = try await store.deadGroups(DeadGroupQuery()).groups
        #expect(all.map(\.queue) == [.jobs, .mail])
        #expect(all.map(\.count) == [2, 1])
        #expect(try await store.deadGroups(DeadGroupQuery(queue: .mail)).groups.map(\.count) == [1])
        await expect(.unknownQueue) { try await store.deadGroups(DeadGroupQuery(queue: QueueName(stored: "none"))) }
    }

    static func soMany(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await bury(["a", "b", "a", "a"], in: store, bench)
        let page = try await store.deadGroups(DeadGroupQuery(lookMax: 3))
        #expect(page.groups.map(\.count) == [2, 1])
        #expect(page.lookedAt == 3)
        #expect(page.next == SequenceNumber(2))
        let rest = try await store.deadGroups(DeadGroupQuery(preceding: page.next, lookMax: 3))
        #expect(rest.groups.map(\.count) == [1])
        #expect(rest.next == nil)
        #expect(try await store.deadGroups(DeadGroupQuery(lookMax: 4)).next == nil, "That was all.")
    }

    static func moveOne(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await bury(["user 1 gone", "disk full", "user 2 gone"], in: store, bench)
        let group = try #require(try await store.deadGroups(DeadGroupQuery()).groups.first)
        let selection = Selection.queue(
            group.queue, states: [.dead], matching: MessageFilter(signature: group.signature), expected: group.count)
        #expect(try await store.count(selection, for: .redrive) == 2)
        #expect(try await store.apply(.redrive, to: selection) == 2)
        #expect(try await store.messages(MessageQuery(states: [.dead])).map(\.sequence.rawValue) == [2])
    }

    static func manyGroups(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        // Numbers are no difference, so each has another letter.
        func letters(_ number: Int) -> String {
            let digits = String(number, radix: 16).utf8.map { $0 < UInt8(ascii: "a") ? $0 + 0x30 : $0 - 0x20 }
            return String(decoding: digits, as: UTF8.self)
        }
        let count = Limits.deadGroupCountMax + 2
        try await store.put((1...count).map { .text("\($0)") })
        let messages = try await store.take(count)
        _ = try await store.settle(
            messages.map { Settlement($0.lease, .dead(error: letters(Int($0.lease.sequence.rawValue)))) })
        let page = try await store.deadGroups(DeadGroupQuery())
        #expect(page.groups.count == Limits.deadGroupCountMax)
        #expect(page.next == SequenceNumber(3), "It ends before a group that would be one too many.")
        #expect(try await store.deadGroups(DeadGroupQuery(preceding: page.next)).groups.count == 2)
    }
}
