import PenstockCore
import PenstockTestKit
import Testing

/// Which worker holds a message, and which one no longer does.
enum LeaseRules {
    static let cases: ConformanceCase.Rules = [
        "each verdict stands alone": eachStandsAlone,
        "is settled once": settlesOnce,
        "once lost, neither a verdict nor an extension changes anything": lateChangesNothing,
        "extend moves its end": extendMovesTheEnd,
        "extend leaves a lost one alone": extendLeavesLostAlone,
        "its message tells when it ends": endIsTold,
        "an extension that keeps a longer one may come late": extendKeepsLonger,
    ]

    static func eachStandsAlone(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...4).map { .text("\($0)") })
        let messages = try await store.take(4)
        _ = try await store.apply(.cancel, to: .sequences([messages[1].sequence]))
        let stranger = Lease(sequence: SequenceNumber(999_999), token: messages[0].lease.token)
        let results = try await store.settle([
            Settlement(messages[0].lease, .done),
            Settlement(messages[1].lease, .done),
            Settlement(stranger, .done),
            Settlement(Lease(sequence: messages[2].sequence, token: messages[3].lease.token), .done),
            Settlement(messages[3].lease, .dead(error: "bad")),
            Settlement(messages[2].lease, .release),
        ])
        #expect(
            results == [.settled(.done), .leaseLost, .leaseLost, .leaseLost, .settled(.dead), .settled(.ready)])
        #expect(try await store.settle([]).isEmpty)
        #expect(try await store.state(of: messages[1].sequence) == .cancelled)
        #expect(try await store.depths() == .of(ready: 1, dead: 1, kept: 2))
    }

    static func settlesOnce(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...2).map { .text("\($0)") })
        let messages = try await store.take(2)
        #expect(
            try await store.settle([
                Settlement(messages[0].lease, .done), Settlement(messages[0].lease, .release),
            ]) == [.settled(.done), .leaseLost])
        #expect(try await store.give(.release, for: messages[1]) == .settled(.ready))
        #expect(try await store.give(.done, for: messages[1]) == .leaseLost)
        #expect(try await store.totals() == .of(enqueued: 2, done: 1))
        #expect(try await store.depths() == .of(ready: 1, kept: 1))
    }

    static func lateChangesNothing(_ bench: Bench) async throws {
        let (slow, quick) = try await bench.openTwo(.steady(attemptsMax: 9))
        let verdicts: [Verdict] = [.done, .retry(error: "late"), .dead(error: "late"), .release]
        for verdict in verdicts {
            let sequence = try await slow.put("it")
            let old = try await slow.takeOne(lease: .seconds(10))
            bench.time.advance(by: .seconds(10))
            #expect(try await quick.reclaim() == Reclaimed(fromExpiredLeases: 1))
            let waiting = try await quick.record(sequence)
            #expect(try await slow.give(verdict, for: old) == .leaseLost, "It waits again.")
            #expect(try await quick.record(sequence) == waiting)

            let new = try await quick.takeOne()
            #expect(new.sequence == sequence)
            let running = try await quick.record(sequence)
            #expect(try await slow.give(verdict, for: old) == .leaseLost, "Another worker has it.")
            #expect(try await slow.extend([old.lease], by: .seconds(60)) == [false])
            #expect(try await quick.record(sequence) == running)

            #expect(try await quick.give(.done, for: new) == .settled(.done))
            let finished = try await quick.record(sequence)
            #expect(try await slow.give(verdict, for: old) == .leaseLost, "It is finished.")
            #expect(try await quick.record(sequence) == finished)
        }
        #expect(try await quick.totals() == .of(enqueued: 4, done: 4, reclaimed: 4))
    }

    static func extendMovesTheEnd(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...2).map { .text("\($0)") })
        let messages = try await store.take(2, lease: .seconds(10))
        bench.time.advance(by: .seconds(9))
        #expect(try await store.extend([messages[0].lease], by: .seconds(10)) == [true])
        bench.time.advance(by: .seconds(1))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await store.state(of: messages[1].sequence) == .ready)
        bench.time.advance(by: .seconds(9) - .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await store.give(.done, for: messages[0]) == .leaseLost)
    }

    static func endIsTold(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let sequence = try await store.put("it")
        func end() async throws -> Timestamp? { try await other.record(sequence).leaseEndsAt }
        #expect(try await end() == nil)
        let start = bench.time.now
        let message = try await store.takeOne(lease: .seconds(10))
        bench.time.advance(by: .seconds(4))
        #expect(try await end() == start + .seconds(10))
        #expect(try await store.extend([message.lease], by: .seconds(20)) == [true])
        #expect(try await end() == start + .seconds(24))
        #expect(try await other.waitReason(of: sequence).message.leaseEndsAt == start + .seconds(24))
        #expect(try await other.apply(.requestCancel(within: .seconds(5)), to: .sequences([sequence])) == 1)
        #expect(try await end() == start + .seconds(9), "Its worker has no more time than to end.")
        let set = start + .seconds(3600)
        bench.time.set(wall: set)
        #expect(try await end() == set + .seconds(5), "It lasts as long, whatever the wall clock is called.")
        bench.time.advance(by: .seconds(6))
        #expect(try await end() == set + .seconds(5), "It has ended, and nobody took it back yet.")
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await end() == nil)
    }

    static func extendKeepsLonger(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...2).map { .text("\($0)") })
        let leases = try await store.take(2, lease: .seconds(10)).map(\.lease)
        #expect(try await store.extend([leases[0]], by: .seconds(60)) == [true])
        let late = leases.map { LeaseExtension($0, by: .seconds(20), keepsLonger: true) }
        #expect(try await store.extend(late) == [.held, .held])
        bench.time.advance(by: .seconds(20))
        #expect(
            try await store.reclaim() == Reclaimed(fromExpiredLeases: 1), "It was made longer where it was shorter.")
        bench.time.advance(by: .seconds(40) - .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await store.extend(late) == [.held, .lost])
        bench.time.advance(by: .seconds(19))
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await store.extend([leases[0]], by: .seconds(1)) == [true], "Another one makes it shorter.")
        bench.time.advance(by: .seconds(1))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
    }

    static func extendLeavesLostAlone(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...3).map { .text("\($0)") })
        let messages = try await store.take(3, lease: .seconds(10))
        #expect(try await store.give(.done, for: messages[1]) == .settled(.done))
        #expect(try await store.extend(messages.map(\.lease), by: .seconds(20)) == [true, false, true])
        #expect(try await store.extend([], by: .seconds(20)).isEmpty)
        for duration in [Duration.zero, .milliseconds(99), Limits.leaseRange.upperBound + .seconds(1)] {
            await expect(.invalidInput) { try await store.extend([messages[0].lease], by: duration) }
        }
        bench.time.advance(by: .seconds(20))
        #expect(try await store.extend([messages[0].lease], by: .seconds(10)) == [true], "Nobody took it back yet.")
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await store.extend(messages.map(\.lease), by: .seconds(20)) == [true, false, false])
    }
}
