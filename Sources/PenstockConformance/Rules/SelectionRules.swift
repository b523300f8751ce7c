import PenstockCore
import PenstockTestKit
import Testing

/// Commands for all messages of a queue that match, and how many those are.
enum SelectionRules {
    static let cases: ConformanceCase.Rules = [
        "moves those of a queue that pass a filter": byFilter,
        "finds those with a key by it": byKey,
        "counts what it would be for": countFirst,
        "moves nothing when more match than expected": expected,
        "goes through many to find a few": fewOfMany,
    ]

    static func byFilter(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for error in ["timed out", "no such user", "timed out again"] {
            try await store.put("x")
            try await store.work(.dead(error: error))
        }
        try await store.put(NewMessage(payload: Array("a".utf8), headers: ["tenant": "ada"]))
        try await store.put("b")
        func selection(_ states: Set<MessageState>, _ filter: MessageFilter) -> Selection {
            .queue(.jobs, states: states, matching: filter)
        }
        let timedOut = selection([.dead], MessageFilter(errorContains: "timed out"))
        #expect(try await store.apply(.redrive, to: timedOut) == 2)
        #expect(try await store.apply(.redrive, to: timedOut) == 0, "They are not dead any more.")
        #expect(try await store.apply(.discard, to: selection([.dead], MessageFilter(errorContains: "user"))) == 1)
        let ready: Set<MessageState> = [.ready]
        #expect(try await store.apply(.cancel, to: selection(ready, MessageFilter(headers: ["tenant": "ada"]))) == 1)
        #expect(try await store.apply(.cancel, to: selection(ready, MessageFilter(payloadContains: "b"))) == 1)
        #expect(try await store.messages(MessageQuery(states: [.cancelled])).map(\.sequence.rawValue) == [2, 4, 5])
        #expect(try await store.messages(MessageQuery(states: [.ready])).map(\.sequence.rawValue) == [1, 3])
    }

    static func byKey(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.put(.text("1", key: "k"))
        try await store.work(.done)
        try await store.put(.text("2", key: "k"), to: .mail)
        try await store.put(.text("3", key: "k"))
        let selection = Selection.queue(.jobs, states: [.ready], matching: MessageFilter(uniqueKey: "k"))
        #expect(
            try await store.count(selection, for: .cancel) == 1, "Neither the one that is done nor the other queue's.")
        #expect(try await store.apply(.cancel, to: selection) == 1)
        #expect(try await store.messages(MessageQuery(states: [.cancelled])).map(\.sequence.rawValue) == [3])
    }

    static func countFirst(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for _ in 1...3 {
            try await store.put("x")
            try await store.work(.dead(error: "bad"))
        }
        let ready = try await store.put("y")
        func count(_ selection: Selection, _ command: LineCommand = .redrive) async throws -> Int {
            try await store.count(selection, for: command)
        }
        #expect(try await count(.queue(.jobs, states: [.dead])) == 3)
        #expect(try await count(.queue(.jobs, states: [.dead], limit: 2)) == 2)
        #expect(try await count(.queue(.jobs, states: [.dead], limit: 0)) == 0)
        #expect(try await count(.queue(.jobs, states: [.dead, .ready])) == 3, "Only states that know the command.")
        #expect(try await count(.queue(.jobs, states: [.dead, .ready]), .cancel) == 1)
        #expect(try await count(.queue(.jobs, states: [.dead], matching: MessageFilter(errorContains: "good"))) == 0)
        #expect(
            try await count([SequenceNumber(1), SequenceNumber(2), SequenceNumber(2), ready, SequenceNumber(99)]) == 2)
        #expect(try await store.depths().dead == 3, "Nothing was moved.")
        await expect(.unknownQueue) { try await count(.queue(QueueName(stored: "none"), states: [.dead])) }
        await expect(.invalidInput) { try await count(.queue(.jobs, states: [.dead], limit: -1)) }
    }

    static func expected(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for _ in 1...3 {
            try await store.put("x")
            try await store.work(.dead(error: "bad"))
        }
        func selection(_ expected: Int, limit: Int? = nil) -> Selection {
            .queue(
                .jobs, states: [.dead], matching: MessageFilter(errorContains: "bad"), limit: limit, expected: expected)
        }
        for number in [0, 2] {
            await expect(.selectionChanged) { try await store.apply(.redrive, to: selection(number)) }
        }
        #expect(try await store.depths().dead == 3, "Nothing was moved.")
        #expect(try await store.apply(.redrive, to: selection(2, limit: 2)) == 2, "The limit is part of the selection.")
        #expect(try await store.apply(.discard, to: selection(5)) == 1, "Fewer are no surprise.")
        #expect(try await store.apply(.discard, to: selection(0)) == 0)
        await expect(.invalidInput) { try await store.apply(.redrive, to: selection(-1)) }
    }

    static func fewOfMany(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let count = 2500
        try await store.put((1...count).map { .text("\($0)") })
        let messages = try await store.take(count)
        _ = try await store.settle(
            messages.map { message in
                Settlement(
                    message.lease,
                    .dead(error: message.lease.sequence.rawValue.isMultiple(of: 2) ? "even" : "odd"))
            })
        let even = MessageFilter(errorContains: "even")
        let selection = Selection.queue(.jobs, states: [.dead], matching: even)
        #expect(try await store.count(selection, for: .redrive) == count / 2)
        #expect(
            try await store.apply(.redrive, to: .queue(.jobs, states: [.dead], matching: even, limit: 3)) == 3)
        #expect(try await store.messages(MessageQuery(states: [.ready])).map(\.sequence.rawValue) == [2, 4, 6])
        #expect(try await store.apply(.redrive, to: selection) == count / 2 - 3)
        let depths = try await store.depths()
        #expect(depths.dead == count / 2 && depths.ready == count / 2)
    }
}
