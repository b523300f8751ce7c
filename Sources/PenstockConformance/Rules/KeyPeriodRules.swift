import PenstockCore
import PenstockTestKit
import Testing

/// Unique keys that are held for a period, whatever becomes of their messages.
enum KeyPeriodRules {
    static let cases: ConformanceCase.Rules = [
        "a key is held for its period, whatever becomes of the message": heldForPeriod,
        "a period outlives its message": outlivesMessage,
        "a key is free after its period, though the message still waits": freeAfterPeriod,
        "who replaces a message has the rest of its period": restOfPeriod,
        "a clock that is set back gives no key two holders": clockSetBack,
    ]

    private static let scopes = KeyScopeRules.scopes

    static func heldForPeriod(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let ends: [(MessageState, (SequenceNumber) async throws -> Void)] = [
            (.done, { _ in try await store.work(.done) }),
            (.dead, { _ in try await store.work(.dead(error: "bad")) }),
            (.cancelled, { sequence in _ = try await store.apply(.cancel, to: .sequences([sequence])) }),
            (.leased, { _ in _ = try await store.takeOne() }),
            (.ready, { _ in try await store.work(.release) }),
        ]
        for (state, end) in ends {
            let sequence = try await store.put(.keyed("it", .period(.seconds(10)))).sequence
            try await end(sequence)
            bench.time.advance(by: .seconds(10) - .microseconds(1))
            let receipt = try await store.put(.keyed("newcomer", .period(.seconds(10))))
            #expect(receipt.skipped && receipt.sequence == sequence && receipt.state == state, "\(state)")
            if state.isFinished {
                let replacing = try await store.put(.keyed("newcomer", .period(.seconds(10)), .replace))
                #expect(replacing.skipped && replacing.sequence == sequence, "Only what waits is replaced.")
            }
            bench.time.advance(by: .microseconds(1))
        }
        #expect(try await !store.put(.keyed("free", .period(.seconds(10)))).skipped)
    }

    static func outlivesMessage(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for verdict in [Verdict.done, .dead(error: "bad")] {
            let sequence = try await store.put(.keyed("it", .period(.seconds(100)))).sequence
            try await store.work(verdict)
            let retention = Retention(age: .zero, deadAge: .zero)
            _ = try await store.prune(PruneRequest(retention: retention))
            #expect(try await store.messages(MessageQuery(sequences: [sequence])).first == nil)
            for conflict in [KeyConflict.skip, .replace] {
                let receipt = try await store.put(.keyed("newcomer", .whileWaiting, conflict))
                #expect(receipt.skipped && receipt.sequence == sequence)
                #expect(receipt.state == nil, "Nobody knows any more what became of it.")
            }
            bench.time.advance(by: .seconds(100))
            _ = try await store.prune(PruneRequest())
            let newcomer = try await store.put(.keyed("newcomer", .whileWaiting))
            #expect(!newcomer.skipped && newcomer.state == .ready)
            _ = try await store.apply(.cancel, to: .sequences([newcomer.sequence]))
        }
    }

    static func freeAfterPeriod(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put(.keyed("first", .period(.seconds(10)))).sequence
        bench.time.advance(by: .seconds(10))
        for scope in scopes {
            let receipt = try await store.put(.keyed("next", scope, .replace))
            #expect(!receipt.skipped && receipt.displaced == nil, "\(scope)")
            _ = try await store.apply(.cancel, to: .sequences([receipt.sequence]))
        }
        #expect(try await store.state(of: first) == .ready)
    }

    static func restOfPeriod(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put(.keyed("1", .period(.seconds(10))))
        bench.time.advance(by: .seconds(6))
        let second = try await store.put(.keyed("2", .period(.seconds(10)), .replace))
        #expect(second.displaced != nil)
        bench.time.advance(by: .seconds(4) - .microseconds(1))
        #expect(try await store.put(.keyed("3", .period(.seconds(10)))).sequence == second.sequence)
        bench.time.advance(by: .microseconds(1))
        #expect(try await !store.put(.keyed("4", .period(.seconds(10)))).skipped)
        #expect(try await store.drain() == ["2", "4"])
        // Another scope begins anew.
        bench.time.advance(by: .seconds(10))
        let fifth = try await store.put(.keyed("5", .period(.seconds(10)))).sequence
        let sixth = try await store.put(.keyed("6", .untilEnded, .replace))
        #expect(sixth.displaced == fifth)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.put(.keyed("7")).sequence == sixth.sequence)
        let eighth = try await store.put(.keyed("8", .period(.seconds(10)), .replace))
        #expect(eighth.displaced == sixth.sequence)
        bench.time.advance(by: .seconds(9))
        #expect(try await store.put(.keyed("9")).sequence == eighth.sequence)
    }

    static func clockSetBack(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for scope in scopes {
            let start = bench.time.now
            try await store.put(.keyed("first", .period(.seconds(10))))
            bench.time.advance(by: .seconds(10))
            let second = try await store.put(.keyed("second", scope))
            #expect(!second.skipped, "\(scope)")
            bench.time.set(wall: start + .seconds(1))
            #expect(try await store.put(.keyed("third")).sequence == second.sequence, "\(scope)")
            #expect(try await store.apply(.cancel, to: .sequences([second.sequence])) == 1)
            let isFree = try await !store.put(.keyed("fourth", .whileWaiting)).skipped
            #expect(isFree == (scope != scopes[2]), "\(scope)")
            _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready]))
            bench.time.set(wall: start + .seconds(1000))
        }
    }
}
