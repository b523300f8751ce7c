import PenstockCore
import PenstockTestKit
import Testing

/// What becomes of messages whose workers are asked to end.
enum CancelRules {
    static let cases: ConformanceCase.Rules = [
        "what waits is cancelled at once, and who works is asked": asks,
        "a worker that is done has done it": doneWins,
        "whatever else the worker says, it is cancelled": anyOtherWord,
        "a dead worker's message is cancelled": death,
        "a worker that closes in good order gives nothing back": close,
        "the time that a worker has is not extended": bound,
        "to ask again only makes the time shorter": again,
        "a limit counts those that were not asked before": limit,
        "the time has to be one that a lease may last": range,
        "a unique key is held to the end": key,
        "those who work hear of it": hears,
        "a workflow's tasks that run are asked": workflow,
        "what a task of a cancelled workflow adds is cancelled": added,
    ]

    private static let ask = LineCommand.requestCancel(within: .seconds(20))

    static func asks(_ bench: Bench) async throws {
        let (worker, store) = try await bench.openTwo(.steady())
        let message = try await worker.putAndTake("runs")
        let ready = try await store.put("ready")
        let scheduled = try await store.put(.text("scheduled", due: .after(.seconds(9)))).sequence
        bench.time.advance(by: .seconds(1))
        #expect(try await store.apply(ask, to: [message.sequence, ready, scheduled]) == 3)
        for sequence in [ready, scheduled] {
            let record = try await store.record(sequence)
            #expect(record.state == .cancelled && record.reason == .requested && record.cancelRequestedAt == nil)
        }
        let record = try await store.record(message.sequence)
        #expect(record.state == .leased && record.reason == nil)
        #expect(record.cancelRequestedAt == bench.time.now)
        #expect(try await store.depths() == .of(leased: 1, kept: 2))
        #expect(try await worker.extend([LeaseExtension(message.lease)]) == [.cancelRequested])
        #expect(try await worker.extend([LeaseExtension(message.lease, by: .seconds(30))]) == [.cancelRequested])
        await expect(.illegalTransition) { try await store.apply(ask, to: [ready]) }
        await expect(.unknownMessage) { try await store.apply(ask, to: [SequenceNumber(999)]) }
        // Cancelled at once after all.
        #expect(try await store.apply(.cancel, to: [message.sequence]) == 1)
        #expect(try await worker.extend([LeaseExtension(message.lease)]) == [.lost])
        #expect(try await store.record(message.sequence).cancelRequestedAt == nil)
        #expect(try await store.totals() == .of(enqueued: 3, cancelled: 3))
    }

    static func doneWins(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...3).map { .text("\($0)") })
        let messages = try await store.take(3)
        #expect(try await store.apply(ask, to: .queue(.jobs, states: [.leased], limit: 2)) == 2)
        let results = try await store.settle([
            Settlement(messages[0].lease, .done), Settlement(messages[1].lease, .done, result: [7]),
            Settlement(messages[2].lease, .done),
        ])
        #expect(results == [.settled(.done), .settled(.done), .settled(.done)])
        for message in messages {
            let record = try await store.record(message.sequence)
            #expect(record.state == .done && record.reason == nil && record.cancelRequestedAt == nil)
        }
        #expect(try await store.journal(of: messages[1].sequence).result == [7])
        #expect(try await store.totals() == .of(enqueued: 3, done: 3))
        await expect(.illegalTransition) { try await store.apply(ask, to: [messages[0].sequence]) }
    }

    static func anyOtherWord(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 9))
        let verdicts: [(Verdict, AttemptOutcome?)] = [
            (.release, nil), (.retry(error: "e"), .failed),
            (.retry(error: "e", outcome: .timedOut, after: .zero), .timedOut),
            (.dead(error: "e"), .rejected), (.suspend(until: bench.time.now + .seconds(60)), nil),
            (.suspend(until: bench.time.now + .seconds(60), event: .named("never")), nil),
        ]
        for (verdict, outcome) in verdicts {
            let sequence = try await store.put("it")
            let message = try await store.takeOne()
            #expect(try await store.apply(ask, to: [sequence]) == 1)
            #expect(try await store.give(verdict, for: message) == .settled(.cancelled))
            #expect(try await store.give(.done, for: message) == .leaseLost, "It is cancelled once.")
            let record = try await store.record(sequence)
            #expect(record.state == .cancelled && record.reason == .requested && record.attempt == 1)
            #expect(record.attempts.map(\.outcome) == (outcome.map { [$0] } ?? []))
            #expect(record.cancelRequestedAt == nil && record.finishedAt == bench.time.now)
            await expect(.illegalTransition) { try await store.apply(.redrive, to: [sequence]) }
        }
        bench.time.advance(by: .seconds(100))
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.totals() == .of(enqueued: 6, cancelled: 6))
    }

    static func death(_ bench: Bench) async throws {
        let (worker, store) = try await bench.openTwo(.steady(attemptsMax: 9))
        let sequence = try await worker.put("it")
        let message = try await worker.takeOne()
        #expect(try await store.apply(ask, to: [sequence]) == 1)
        try await bench.crash(worker)
        #expect(try await store.reclaim() == Reclaimed(fromDeadWorkers: 1))
        let record = try await store.record(sequence)
        #expect(record.state == .cancelled && record.reason == .requested)
        #expect(record.attempts.map(\.outcome) == [.workerDied])
        #expect(try await store.give(.done, for: message) == .leaseLost)
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.totals() == .of(enqueued: 1, cancelled: 1, reclaimed: 1))
    }

    static func close(_ bench: Bench) async throws {
        let (worker, store) = try await bench.openTwo(.steady())
        try await worker.put((1...2).map { .text("\($0)") })
        let messages = try await worker.take(2)
        #expect(try await store.apply(ask, to: [messages[0].sequence]) == 1)
        try await worker.close()
        #expect(try await store.state(of: messages[0].sequence) == .cancelled)
        #expect(try await store.state(of: messages[1].sequence) == .ready)
    }

    static func bound(_ bench: Bench) async throws {
        let (worker, store) = try await bench.openTwo(.steady(attemptsMax: 9))
        let sequence = try await worker.put("it")
        let message = try await worker.takeOne(lease: .seconds(30))
        #expect(try await store.apply(ask, to: [sequence]) == 1)
        bench.time.advance(by: .seconds(15))
        #expect(try await worker.extend([LeaseExtension(message.lease, by: .seconds(30))]) == [.cancelRequested])
        _ = try await worker.record(
            .named("step"), result: [], on: message.lease, extendingBy: .seconds(30), durability: .processCrash)
        bench.time.advance(by: .seconds(5) - .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        let record = try await store.record(sequence)
        #expect(record.state == .cancelled && record.reason == .requested)
        #expect(record.attempts.map(\.outcome) == [.leaseExpired])
        for verdict in [Verdict.done, .retry(error: "late"), .release] {
            #expect(try await worker.give(verdict, for: message) == .leaseLost)
        }
        #expect(try await worker.extend([LeaseExtension(message.lease, by: .seconds(30))]) == [.lost])
        #expect(try await store.record(sequence) == record)
        #expect(try await store.take(9).isEmpty)
    }

    static func again(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        let message = try await store.takeOne(lease: .seconds(60))
        #expect(try await store.apply(ask, to: [sequence]) == 1)
        let asked = try await store.record(sequence)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.apply(.requestCancel(within: .seconds(50)), to: [sequence]) == 0)
        #expect(try await store.record(sequence) == asked)
        #expect(try await store.apply(.requestCancel(within: .seconds(4)), to: .queue(.jobs, states: [.leased])) == 0)
        #expect(try await store.extend([LeaseExtension(message.lease, by: .seconds(60))]) == [.cancelRequested])
        bench.time.advance(by: .seconds(4) - .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await store.state(of: sequence) == .cancelled)
    }

    static func limit(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...5).map { .text("\($0)") })
        let messages = try await store.take(4)
        let all = Set(MessageState.allCases)
        #expect(try await store.apply(ask, to: .queue(.jobs, states: all, limit: 2)) == 2)
        #expect(try await store.apply(ask, to: .queue(.jobs, states: all, limit: 2)) == 2)
        #expect(try await store.depths() == .of(ready: 1, leased: 4))
        #expect(try await store.apply(ask, to: .queue(.jobs, states: all, limit: 2)) == 1)
        #expect(try await store.depths() == .of(leased: 4, kept: 1))
        #expect(try await store.apply(ask, to: .queue(.jobs, states: all)) == 0)
        for message in messages { #expect(try await store.give(.release, for: message) == .settled(.cancelled)) }
        #expect(try await store.totals() == .of(enqueued: 5, cancelled: 5))
    }

    static func range(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        for time in [Duration.zero, .milliseconds(99), Limits.leaseRange.upperBound + .seconds(1)] {
            await expect(.invalidInput) { try await store.apply(.requestCancel(within: time), to: [sequence]) }
        }
        await expect(.invalidInput) { try await store.extend([LeaseExtension(bench.stray, by: .zero)]) }
        #expect(try await store.extend([LeaseExtension(bench.stray)]) == [.lost])
        #expect(try await store.extend([LeaseExtension]()).isEmpty)
        #expect(try await store.state(of: sequence) == .ready)
    }

    static func key(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put(.text("first", key: "k"))
        let message = try await store.takeOne()
        #expect(try await store.apply(ask, to: [first.sequence]) == 1)
        #expect(try await store.put(.text("second", key: "k")).skipped)
        #expect(try await store.give(.retry(error: "e"), for: message) == .settled(.cancelled))
        #expect(try await !store.put(.text("third", key: "k")).skipped)
    }

    static func hears(_ bench: Bench) async throws {
        let (worker, store) = try await bench.openTwo(.steady())
        try await worker.put((1...2).map { .text("\($0)") })
        let messages = try await worker.take(2)
        for (message, command) in zip(messages, [ask, .cancel]) {
            let notices = worker.changes.notices
            let before = notices.token(for: .jobs)
            async let heard: Void = notices.wait(for: .jobs, after: before)
            #expect(try await store.apply(command, to: [message.sequence]) == 1)
            try await heard
        }
    }

    static func workflow(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", []), ("c", ["a"]), ("d", ["b"])])
        let both = try await store.take(2)
        #expect(try await store.cancel(.flow) == 4)
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.cancel(.flow) == 2, "Two have not ended.")
        #expect(try await store.give(.done, for: both[0]) == .settled(.done))
        #expect(try await store.give(.retry(error: "e"), for: both[1]) == .settled(.cancelled))
        var states: [MessageState] = []
        for receipt in started.receipts { states.append(try await store.state(of: receipt.sequence)) }
        #expect(states == [.done, .cancelled, .cancelled, .cancelled])
        #expect(try await store.workflows(WorkflowQuery(name: .flow)).first?.state == .cancelled)
        #expect(try await store.cancel(.flow) == 0)
    }

    static func added(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.begin([("a", []), ("b", ["a"])])
        let message = try await store.takeOne()
        #expect(try await store.cancel(.flow) == 2)
        let settlement = Settlement(message.lease, .done, added: AddedTasks([.of("more")]))
        #expect(try await store.settle([settlement]) == [.settled(.done)])
        #expect(try await store.take(9).isEmpty)
        let tasks = try await store.tasks(TaskQuery(.flow))
        #expect(tasks.map(\.state) == [.done, .cancelled, .cancelled])
    }
}

extension Bench {
    /// A lease that nobody was given.
    fileprivate var stray: Lease { Lease(sequence: SequenceNumber(999), token: LeaseToken(rawValue: 1)) }
}
