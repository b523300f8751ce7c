import PenstockCore
import PenstockTestKit
import Testing

/// At most one message that waits or runs has a key.
enum UniqueKeyRules {
    static let cases: ConformanceCase.Rules = [
        "skip gives back the message that has the key": skipGivesBackTheHolder,
        "replace takes the place of a waiting message": replaceTakesThePlace,
        "a message that has ended holds none": endedHoldNone,
        "are of one queue": areOfOneQueue,
        "are their bytes": areTheirBytes,
        "bar a redrive while another message has the key": barRedrive,
        "skip and replace need no room": needNoRoom,
        "a dropped arrival holds none": droppedArrivalHoldsNone,
    ]

    /// Brings the only message with key `k` into a state that holds it.
    private static func hold(
        _ state: MessageState, in store: any MessageStore
    ) async throws -> SequenceNumber {
        let due: Due = state == .scheduled ? .after(.seconds(60)) : .now
        let sequence = try await store.put(.text("holder", due: due, key: "k")).sequence
        if state == .leased { #expect(try await store.takeOne().sequence == sequence) }
        return sequence
    }

    static func skipGivesBackTheHolder(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for state in [MessageState.scheduled, .ready, .leased] {
            let holder = try await hold(state, in: store)
            let before = try await store.queueStatus()
            let receipt = try await store.put(.text("newcomer", priority: 9, key: "k"))
            #expect(
                receipt == Receipt(sequence: holder, state: state, durability: .processCrash, skipped: true),
                "held by a \(state) message")
            #expect(try await store.queueStatus() == before)
            #expect(try await store.record(holder).text == "holder")
            _ = try await store.apply(.cancel, to: .sequences([holder]))
        }
    }

    static func replaceTakesThePlace(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for state in [MessageState.scheduled, .ready] {
            let holder = try await hold(state, in: store)
            let receipt = try await store.put(.text("newcomer", key: "k", onConflict: .replace))
            #expect(receipt.state == .ready)
            #expect(receipt.displaced == holder)
            #expect(!receipt.skipped)
            #expect(receipt.sequence > holder)

            let old = try await store.record(holder)
            #expect(old.state == .cancelled)
            #expect(old.reason == .replaced)
            #expect(old.finishedAt == bench.time.now)
            #expect(old.due == nil)

            let again = try await store.put(.text("third", key: "k"))
            #expect(again.skipped)
            #expect(again.sequence == receipt.sequence, "The newcomer has the key now.")
            #expect(try await store.drain() == ["newcomer"])
            _ = try await store.apply(.cancel, to: .sequences([receipt.sequence]))
        }
        #expect(try await store.totals() == .of(enqueued: 4, cancelled: 4))
    }

    static func endedHoldNone(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .dropOldest))
        let ends: [(MessageState, (any MessageStore, SequenceNumber) async throws -> Void)] = [
            (.done, { store, _ in try await store.work(.done) }),
            (.dead, { store, _ in try await store.work(.dead(error: "bad")) }),
            (.cancelled, { store, sequence in _ = try await store.apply(.cancel, to: .sequences([sequence])) }),
            (.dropped, { store, _ in try await store.put("it displaces the other") }),
        ]
        for (state, end) in ends {
            let old = try await store.put(.text("old", key: "k"))
            #expect(!old.skipped)
            try await end(store, old.sequence)
            #expect(try await store.state(of: old.sequence) == state)
            let new = try await store.put(.text("new", key: "k"))
            #expect(!new.skipped, "the key of a \(state) message")
            #expect(new.sequence > old.sequence)
            #expect(try await store.record(old.sequence).uniqueKey == "k", "What was accepted stays on record.")
            _ = try await store.apply(.cancel, to: .sequences([new.sequence]))
        }
    }

    static func areOfOneQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: QueuePolicy())
        try await store.put(.text("a", key: "k"))
        #expect(try await !store.put(.text("b", key: "k"), to: .mail).skipped)
        #expect(try await !store.put(.text("c", key: "K")).skipped, "Keys are compared byte by byte.")
        #expect(try await store.put(.text("d", key: "k"), to: .mail).skipped)
    }

    /// Swift takes two ways to write an accent for one text; a store does not.
    static func areTheirBytes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .fail))
        let batch = ["\u{E9}", "e\u{301}"].map { NewMessage.text("it", key: $0) }
        let receipts = try await store.put(batch)
        #expect(receipts.map(\.skipped) == [false, false])
        #expect(try await store.put(batch).map(\.sequence) == receipts.map(\.sequence))
        for message in try await store.take(2) { _ = try await store.give(.dead(error: "bad"), for: message) }
        #expect(try await store.apply(.redrive, to: .sequences(receipts.map(\.sequence))) == 2)

        try await store.work(.done)
        try await store.work(.done)
        try await store.put(.text("it", key: "other"))
        await expect(.queueFull) { try await store.put(batch) }
    }

    static func barRedrive(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put(.text("first", key: "k")).sequence
        try await store.work(.dead(error: "bad"))
        let second = try await store.put(.text("second", key: "k")).sequence
        try await store.work(.dead(error: "bad"))
        let free = try await store.put(.text("free")).sequence
        try await store.work(.dead(error: "bad"))

        await expect(.illegalTransition) {
            try await store.apply(.redrive, to: .sequences([free, first, second]))
        }
        #expect(try await store.depths() == .of(dead: 3), "Two with one key cannot go back together.")
        #expect(try await store.apply(.redrive, to: .queue(.jobs, states: [.dead])) == 2)
        #expect(try await store.state(of: first) == .ready)
        #expect(try await store.state(of: second) == .dead, "By queue, it is passed over.")
        #expect(try await store.deadWithoutKeyCount(of: .jobs, group: nil) == 1)
        #expect(try await store.deadWithoutKeyCount(of: .jobs, group: "a") == 0)
        await expect(.unknownQueue) { _ = try await store.deadWithoutKeyCount(of: .mail, group: nil) }
        #expect(try await store.state(of: free) == .ready)
        await expect(.illegalTransition) { try await store.apply(.redrive, to: .sequences([second])) }

        try await store.work(.done)
        #expect(try await store.deadWithoutKeyCount(of: .jobs, group: nil) == 0)
        #expect(try await store.apply(.redrive, to: .sequences([second])) == 1)
        #expect(try await store.put(.text("third", key: "k")).sequence == second)
    }

    static func needNoRoom(_ bench: Bench) async throws {
        for policy in OverflowPolicy.allCases {
            let store = try await bench.open(.steady(1, policy))
            try await store.configure(.jobs, .set(.steady(1, policy)))
            let held = try await store.put(.text("old", key: "k")).sequence
            #expect(try await store.put(.text("skipped", key: "k")).skipped, "\(policy)")
            let receipt = try await store.put(.text("new", key: "k", onConflict: .replace))
            #expect(receipt.state == .ready, "\(policy)")
            #expect(receipt.displaced == held, "\(policy)")

            // Above its capacity, by a message that came back, the queue is no stricter.
            let message = try await store.takeOne()
            try await store.put(.text("other", key: "other"))
            #expect(try await store.give(.release, for: message) == .settled(.ready))
            let above = try await store.put(.text("newest", key: "k", onConflict: .replace))
            #expect(above.state == .ready, "\(policy)")
            #expect(above.displaced == receipt.sequence, "\(policy)")
            #expect(try await store.depths().waiting == 2, "\(policy)")
            #expect(try await store.drain() == ["other", "newest"], "\(policy)")
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    static func droppedArrivalHoldsNone(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1, .dropNewest))
        for scope in KeyScopeRules.scopes {
            try await store.put("it fills the queue")
            #expect(try await store.put(.keyed("dropped", scope)).state == .dropped)
            try await store.work(.done)
            let receipt = try await store.put(.keyed("accepted"))
            #expect(!receipt.skipped && receipt.state == .ready, "\(scope)")
            try await store.work(.done)
        }
    }
}
