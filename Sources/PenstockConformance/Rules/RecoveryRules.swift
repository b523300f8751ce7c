import PenstockCore
import PenstockTestKit
import Testing

/// What becomes of the messages of workers that are gone.
enum RecoveryRules {
    static let cases: ConformanceCase.Rules = [
        "takes back from a dead worker at once": deadWorker,
        "leaves the messages of the living alone": livingWorker,
        "a lost attempt counts, and the last one makes a dead letter": lostAttemptsCount,
        "takes back when a lease has ended, to the microsecond": endedLease,
        "a lease that has ended counts until it is taken back": endedLeaseCounts,
        "no jump of the wall clock frees or pins a lease": wallClockJumps,
        "a reboot frees every lease": reboot,
        "a new process takes nothing from the others": openingTakesNothing,
        "what was acknowledged survives its producer": producerDies,
        "every process names the same store": namesTheStore,
        "closing gives back at once": closingGivesBack,
        "a closed store says so": closedSaysSo,
    ]

    static func namesTheStore(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let id = try await store.storeID()
        let other = try await bench.open()
        #expect(try await other.storeID() == id)
        try await bench.crash(store)
        #expect(try await other.storeID() == id)
        #expect(try await bench.open().storeID() == id)
    }

    static func deadWorker(_ bench: Bench) async throws {
        let (witness, worker) = try await bench.openTwo(.steady())
        let sequences = try await witness.put((1...4).map { .text("\($0)", priority: $0 % 2) }).map(\.sequence)
        let started = bench.time.now
        let running = try await worker.take(3, lease: .seconds(3600))
        #expect(running.map(\.text) == ["1", "3", "2"])
        bench.time.advance(by: .milliseconds(5))
        try await bench.crash(worker)
        #expect(try await witness.depths() == .of(ready: 1, leased: 3), "Nobody has looked yet.")
        #expect(try await witness.status(of: nil).workers.contains { $0.isAlive == false && $0.leased == 3 })

        #expect(try await witness.reclaim() == Reclaimed(fromDeadWorkers: 3))
        #expect(try await witness.depths() == .of(ready: 4))
        let record = try await witness.record(sequences[0])
        #expect(record.state == .ready)
        #expect(record.attempt == 1)
        #expect(record.due == nil)
        #expect(record.worker == nil)
        #expect(record.attempts.count == 1)
        #expect(record.attempts.first?.outcome == .workerDied)
        #expect(record.attempts.first?.startedAt == started)
        #expect(record.attempts.first?.endedAt == bench.time.now)
        #expect(record.attempts.first?.worker.isEmpty == false)
        #expect(record.attempts.first?.error.isEmpty == false)
        #expect(try await witness.totals() == .of(enqueued: 4, reclaimed: 3))
        #expect(try await witness.reclaim() == Reclaimed(), "Once is enough.")

        let again = try await witness.take(4)
        #expect(again.map(\.text) == ["1", "3", "2", "4"])
        #expect(again.map(\.attempt) == [2, 2, 2, 1])
        #expect(try await witness.status(of: nil).workers.allSatisfy { $0.isAlive == true })
    }

    static func livingWorker(_ bench: Bench) async throws {
        let (first, second) = try await bench.openTwo(.steady())
        let third = try await bench.open()
        try await first.put((1...3).map { .text("\($0)") })
        let running = [try await first.takeOne(), try await second.takeOne()]
        _ = try await third.takeOne()
        try await bench.crash(third)
        #expect(try await first.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try await first.depths() == .of(ready: 1, leased: 2))
        #expect(try await first.give(.done, for: running[0]) == .settled(.done))
        #expect(try await second.give(.done, for: running[1]) == .settled(.done))
    }

    static func lostAttemptsCount(_ bench: Bench) async throws {
        let witness = try await bench.open(.steady(attemptsMax: 3))
        let sequence = try await witness.put("it")
        for attempt in 1...3 {
            if attempt == 2 {
                _ = try await witness.takeOne(lease: .seconds(10))
                bench.time.advance(by: .seconds(10))
            } else {
                let worker = try await bench.open()
                _ = try await worker.takeOne()
                try await bench.crash(worker)
            }
            _ = try await witness.reclaim()
            #expect(try await witness.state(of: sequence) == (attempt < 3 ? .ready : .dead))
        }
        let record = try await witness.record(sequence)
        #expect(record.reason == .attemptsExhausted)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.attempts.map(\.outcome) == [.workerDied, .leaseExpired, .workerDied])
        #expect(try await witness.totals() == .of(enqueued: 1, dead: 1, reclaimed: 3))
    }

    static func endedLease(_ bench: Bench) async throws {
        let (worker, other) = try await bench.openTwo(.steady())
        let sequence = try await worker.put("it")
        let message = try await worker.takeOne(lease: .seconds(30))
        bench.time.advance(by: .seconds(30) - .microseconds(1))
        #expect(try await other.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        let record = try await other.record(sequence)
        #expect(record.state == .ready)
        #expect(record.attempt == 1)
        #expect(record.attempts.map(\.outcome) == [.leaseExpired])
        #expect(try await worker.give(.done, for: message) == .leaseLost)

        // A worker that looks around takes back its own, too.
        _ = try await worker.takeOne(lease: .milliseconds(100))
        bench.time.advance(by: .milliseconds(100))
        #expect(try await worker.reclaim() == Reclaimed(fromExpiredLeases: 1))
    }

    static func endedLeaseCounts(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("it")
        let message = try await store.takeOne(lease: .seconds(10))
        bench.time.advance(by: .seconds(60))
        #expect(try await store.take().isEmpty, "A claim takes nothing back.")
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await store.reclaim() == Reclaimed())
    }

    static func wallClockJumps(_ bench: Bench) async throws {
        let (worker, other) = try await bench.openTwo(.steady(attemptsMax: 9))
        let year = Duration.seconds(365 * 24 * 3600)
        for jump in [year, .zero - year] {
            let sequence = try await worker.put("it")
            _ = try await worker.takeOne(lease: .seconds(30))
            bench.time.set(wall: bench.time.now + jump)
            #expect(try await other.reclaim() == Reclaimed(), "A jump by \(jump) frees nothing.")
            bench.time.advance(by: .seconds(29))
            #expect(try await other.reclaim() == Reclaimed())
            bench.time.advance(by: .seconds(1))
            #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1), "Nor does it pin anything.")
            #expect(try await other.work(.done) == sequence)
        }
    }

    static func reboot(_ bench: Bench) async throws {
        let worker = try await bench.open(.steady())
        let sequences = try await worker.put((1...2).map { .text("\($0)") }).map(\.sequence)
        _ = try await worker.take(2, lease: Limits.leaseRange.upperBound)
        try await bench.crash(worker)
        bench.time.reboot()

        let next = try await bench.open()
        #expect(try await next.record(sequences[0]).leaseEndsAt == nil, "The clock that it goes by is no more.")
        let reclaimed = try await next.reclaim()
        #expect(reclaimed.fromDeadWorkers + reclaimed.fromExpiredLeases == 2)
        #expect(try await next.take(2).map(\.sequence) == sequences)
    }

    static func openingTakesNothing(_ bench: Bench) async throws {
        let first = try await bench.open(.steady())
        let message = try await first.putAndTake("it")
        for _ in 1...3 {
            let other = try await bench.open()
            #expect(try await other.reclaim() == Reclaimed())
            #expect(try await other.take().isEmpty)
            try await other.close()
        }
        #expect(try await first.give(.done, for: message) == .settled(.done))
    }

    static func producerDies(_ bench: Bench) async throws {
        let producer = try await bench.open(.steady())
        for durability in Durability.allCases {
            _ = try await producer.enqueue([.text("\(durability)")], to: .jobs, durability: durability)
        }
        try await bench.crash(producer)
        let worker = try await bench.open()
        #expect(try await worker.drain() == Durability.allCases.map { "\($0)" })
    }

    static func closingGivesBack(_ bench: Bench) async throws {
        let (worker, other) = try await bench.openTwo(.steady(attemptsMax: 1))
        let sequences = try await worker.put((1...2).map { .text("\($0)") }).map(\.sequence)
        _ = try await worker.take(2)
        let token = other.changes.token(for: .jobs)
        try await worker.close()
        #expect(try await other.depths() == .of(ready: 2))
        let record = try await other.record(sequences[0])
        #expect(record.attempt == 0, "No attempt is counted.")
        #expect(record.attempts.isEmpty)
        #expect(try await other.totals() == .of(enqueued: 2))
        try await other.changes.wait(for: .jobs, after: token)
        #expect(try await other.drain() == ["1", "2"])
    }

    static func closedSaysSo(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let lease = Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1))
        try await store.close()
        try await store.close()
        await expect(.closed) { try await store.put("x") }
        await expect(.closed) { try await store.take() }
        await expect(.closed) { try await store.settle([Settlement(lease, .done)]) }
        await expect(.closed) { try await store.extend([lease], by: .seconds(30)) }
        await expect(.closed) { try await store.reclaim() }
        await expect(.closed) { try await store.messages(MessageQuery()) }
        await expect(.closed) { try await store.status(of: nil) }
        await expect(.closed) { try await store.configure(.jobs, .pause) }
        await expect(.closed) { try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) }
        await expect(.closed) { try await store.count(.queue(.jobs, states: [.ready]), for: .cancel) }
        await expect(.closed) { try await store.deadGroups(DeadGroupQuery()) }
        await expect(.closed) { try await store.prune(PruneRequest()) }
    }
}
