import PenstockCore
import PenstockTestKit
import Testing

/// How those who wait for the end of a message learn of it. As in ``ChangesRules``, a ring that does not come shows as a test that hangs.
enum EndRules {
    static let cases: ConformanceCase.Rules = [
        "of a message is rung for, in whichever way it ends": rung,
        "is asked for wherever the message is": everywhere,
        "of what is worked together is rung for": together,
        "of a message that waits for others is rung for": pending,
        "that is over is told at once": over,
        "of no message is waited for": unknown,
    ]

    /// Expects `change` to end message `sequence`, and that to ring in `listener`.
    private static func ends(
        _ sequence: SequenceNumber, as state: MessageState, in listener: any MessageStore,
        _ change: () async throws -> Void
    ) async throws {
        let before = try await listener.expectEnd(of: sequence)
        #expect(!before.isFinished)
        let token = listener.changes.token(for: .jobs)
        try await change()
        try await listener.changes.wait(for: .jobs, after: token)
        #expect(try await listener.state(of: sequence) == state)
    }

    static func rung(_ bench: Bench) async throws {
        let worker = try await bench.open(.steady(attemptsMax: 1))
        for listener in [worker, try await bench.open()] {
            let verdicts: [(Verdict, MessageState)] = [
                (.done, .done), (.dead(error: "e"), .dead), (.retry(error: "e"), .dead),
            ]
            for (verdict, state) in verdicts {
                let sequence = try await worker.put("it")
                let message = try await worker.takeOne()
                try await ends(sequence, as: state, in: listener) { _ = try await worker.give(verdict, for: message) }
            }
            let waiting = try await worker.put("waits")
            try await ends(waiting, as: .cancelled, in: listener) { _ = try await worker.apply(.cancel, to: [waiting]) }
            let asked = try await worker.put("asked")
            let message = try await worker.takeOne(lease: .seconds(5))
            _ = try await worker.apply(.requestCancel(), to: [asked])
            try await ends(asked, as: .cancelled, in: listener) { _ = try await worker.give(.release, for: message) }
            let lost = try await worker.put("lost")
            _ = try await worker.takeOne(lease: .seconds(5))
            bench.time.advance(by: .seconds(5))
            try await ends(lost, as: .dead, in: listener) { _ = try await worker.reclaim() }
        }
    }

    static func everywhere(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropOldest))
        let dropped = try await store.put("dropped")
        try await store.put("second")
        try await ends(dropped, as: .dropped, in: store) { try await store.put("third") }
        #expect(try await store.drain() == ["second", "third"])
        // The wish goes with the message from place to place.
        let sequence = try await store.put(.text("moves", due: .after(.seconds(1)))).sequence
        #expect(try await store.expectEnd(of: sequence) == .scheduled)
        bench.time.advance(by: .seconds(1))
        let message = try await store.takeOne()
        #expect(try await store.give(.retry(error: "e", after: .seconds(1)), for: message) == .settled(.scheduled))
        bench.time.advance(by: .seconds(1))
        let again = try await store.takeOne()
        let token = store.changes.token(for: .jobs)
        #expect(try await store.give(.done, for: again) == .settled(.done))
        try await store.changes.wait(for: .jobs, after: token)
    }

    static func together(_ bench: Bench) async throws {
        let (store, listener) = try await bench.openTwo(.steady())
        try await store.put((1...6).map { .text("\($0)") })
        let messages = try await store.take(6)
        try await ends(messages[3].sequence, as: .done, in: listener) {
            let results = try await store.settle(messages.map { Settlement($0.lease, .done, result: nil) })
            #expect(results == Array(repeating: .settled(.done), count: 6))
        }
        #expect(try await store.totals() == .of(enqueued: 6, done: 6))
    }

    static func pending(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", ["a"]), ("c", ["a"])])
        let (b, c) = (started.receipts[1].sequence, started.receipts[2].sequence)
        #expect(try await store.expectEnd(of: b) == .pending)
        try await store.work(.done)
        try await ends(b, as: .done, in: store) { try await store.work(.done) }
        #expect(try await store.state(of: c) == .ready)
        let other = try await store.begin([("x", []), ("y", ["x"])], "other").receipts[1].sequence
        try await store.work(.done)
        try await ends(other, as: .cancelled, in: store) { try await store.work(.dead(error: "e")) }
    }

    static func over(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        #expect(try await store.expectEnd(of: sequence) == .ready)
        #expect(try await store.expectEnd(of: sequence) == .ready, "It may be waited for twice.")
        try await store.work(.done)
        #expect(try await store.expectEnd(of: sequence) == .done)
    }

    static func unknown(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        await expect(.unknownMessage) { try await store.expectEnd(of: SequenceNumber(7)) }
    }
}
