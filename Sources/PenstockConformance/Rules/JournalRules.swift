import PenstockCore
import PenstockTestKit
import Testing

/// Steps of handlers, handlers that wait, and events from outside.
enum JournalRules {
    static let cases: ConformanceCase.Rules = [
        "a step is recorded once": once,
        "a step is recorded by who holds the lease": fenced,
        "a step moves the end of the lease when it is asked to": extends,
        "steps are kept in their order, over attempts, and go with the message": kept,
        "a message that is suspended comes back, uncounted": suspended,
        "a handler has stopped to wait only with a message that it has begun with": putOff,
        "an event wakes the message that waits for it": event,
        "an event that came before is not waited for": eventBefore,
        "an event of a workflow wakes all that wait for it": workflowEvent,
        "the first event of a name stays": firstStays,
        "what has ended takes no event": ended,
        "an event for a dead letter is to be sent again": dead,
        "checks its input": checksInput,
    ]

    static func once(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        let held = try await store.takeOne()
        let first = try await store.record(.named("charge"), result: [1], on: held.lease, extendingBy: nil)
        #expect(first == StepRecord(name: .named("charge"), result: [1], recordedAt: bench.time.now))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.record(.named("charge"), result: [2], on: held.lease, extendingBy: nil) == first)
        #expect(try await store.journal(of: sequence) == MessageJournal(steps: [first]))
    }

    static func fenced(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        let old = try await store.takeOne()
        _ = try await store.give(.release, for: old)
        await expect(.leaseLost) {
            try await store.record(.named("charge"), result: [1], on: old.lease, extendingBy: nil)
        }
        let new = try await store.takeOne()
        await expect(.leaseLost) {
            try await store.record(.named("charge"), result: [1], on: old.lease, extendingBy: nil)
        }
        #expect(try await store.journal(of: sequence).steps.isEmpty)
        _ = try await store.record(.named("charge"), result: [2], on: new.lease, extendingBy: nil)
        await expect(.leaseLost) {
            try await store.record(.named("charge"), result: [1], on: old.lease, extendingBy: nil)
        }
        #expect(try await store.journal(of: sequence).steps.map(\.result) == [[2]])
    }

    static func extends(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("x")
        let held = try await store.takeOne(lease: .seconds(10))
        bench.time.advance(by: .seconds(9))
        _ = try await store.record(.named("a"), result: [], on: held.lease, extendingBy: .seconds(10))
        bench.time.advance(by: .seconds(9))
        #expect(try await store.reclaim() == Reclaimed())
        // Also by a step that is on record already.
        _ = try await store.record(.named("a"), result: [], on: held.lease, extendingBy: .seconds(10))
        bench.time.advance(by: .seconds(9))
        #expect(try await store.reclaim() == Reclaimed())
        _ = try await store.record(.named("b"), result: [], on: held.lease, extendingBy: nil)
        bench.time.advance(by: .seconds(2))
        #expect(try await store.reclaim().fromExpiredLeases == 1)
    }

    static func kept(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        let first = try await store.takeOne()
        _ = try await store.record(.named("b"), result: [1], on: first.lease, extendingBy: nil)
        _ = try await store.give(.retry(error: "no", after: .zero), for: first)
        let second = try await store.takeOne()
        _ = try await store.record(.named("a"), result: [2], on: second.lease, extendingBy: nil)
        #expect(try await store.journal(of: sequence).steps.map(\.name.text) == ["b", "a"])
        _ = try await store.give(.done, for: second)
        #expect(try await store.journal(of: sequence).steps.count == 2)
        bench.time.advance(by: .seconds(1))
        _ = try await store.prune(PruneRequest(retention: Retention(age: .zero)))
        await expect(.unknownMessage) { try await store.journal(of: sequence) }
    }

    static func suspended(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1))
        let sequence = try await store.put("x")
        let due = bench.time.now + .seconds(60)
        let held = try await store.takeOne()
        #expect(try await store.give(.suspend(until: due), for: held) == .settled(.scheduled))
        let record = try await store.record(sequence)
        #expect(record.due == due && record.attempt == 0 && record.attempts.isEmpty)
        #expect(try await store.totals() == .of(enqueued: 1))
        #expect(try await store.take().isEmpty)
        bench.time.advance(by: .seconds(60))
        let again = try await store.takeOne()
        #expect(again.attempt == 1)
        #expect(try await store.give(.suspend(until: bench.time.now), for: again) == .settled(.ready))
        #expect(try await store.drainDone() == ["x"])
    }

    /// A worker that does not know its kind has not begun with it: what went before is why it is scheduled, if anything.
    static func putOff(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        func delay() async throws -> WaitReason.Delay? {
            let message = try await store.takeOne()
            try await RateRules.passOn(message, bench, store)
            guard case .due(_, let delay)? = try await store.waitReason(of: message.sequence).causes.first else {
                return nil
            }
            return delay
        }
        try await store.put("a")
        #expect(try await delay() == .asEnqueued)
        try await store.put("b")
        try await store.work(.retry(error: "no"))
        bench.time.advance(by: .seconds(1))
        #expect(try await delay() == .retry)
        let begun = try await store.putAndTake("c")
        _ = try await store.record(.named("charge"), result: [], on: begun.lease, extendingBy: nil)
        _ = try await store.give(.suspend(until: bench.time.now + .seconds(1)), for: begun)
        bench.time.advance(by: .seconds(1))
        #expect(try await delay() == .suspended)
    }

    static func event(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let sequence = try await store.put("x")
        let due = bench.time.now + .seconds(3600)
        try await store.work(.suspend(until: due, event: .named("approved")))
        #expect(try await store.journal(of: sequence).awaited == .named("approved"))
        #expect(try await store.event(.named("approved"), for: sequence) == nil)
        #expect(try await other.tell("rejected", to: .message(sequence)))
        #expect(try await store.state(of: sequence) == .scheduled)
        #expect(
            try await other.emit(
                NewEvent(.named("approved"), payload: [1, 2]), to: .message(sequence), durability: .powerLoss))
        #expect(try await store.journal(of: sequence).awaited == nil)
        let held = try await store.takeOne()
        #expect(held.attempt == 1)
        #expect(try await store.event(.named("approved"), for: sequence) == [1, 2])
        // The next time it waits for nothing but the time.
        _ = try await store.give(.suspend(until: due), for: held)
        #expect(try await store.state(of: sequence) == .scheduled)
        await expect(.unknownMessage) { try await store.event(.named("approved"), for: SequenceNumber(99)) }
    }

    static func eventBefore(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        #expect(try await store.tell("go", [1], to: .message(sequence)))
        let held = try await store.takeOne()
        let due = bench.time.now + .seconds(3600)
        #expect(try await store.give(.suspend(until: due, event: .named("go")), for: held) == .settled(.ready))
        #expect(try await store.journal(of: sequence).awaited == nil)
        // It waits, is put back by hand, and waits for nothing then.
        try await store.work(.suspend(until: due, event: .named("later")))
        _ = try await store.apply(.redrive, to: [sequence])
        #expect(try await store.journal(of: sequence).awaited == nil)
        try await store.work(.suspend(until: due))
        #expect(try await store.tell("later", to: .message(sequence)))
        #expect(try await store.state(of: sequence) == .scheduled)
        bench.time.advance(by: .seconds(3600))
        #expect(try await store.drainDone() == ["x"])
    }

    static func workflowEvent(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let started = try await store.begin([("a", []), ("b", []), ("c", []), ("d", ["a"])])
        let due = bench.time.now + .seconds(3600)
        let held = try await store.take(3)
        _ = try await store.settle([
            Settlement(held[0].lease, .suspend(until: due, event: .named("go"))),
            Settlement(held[1].lease, .suspend(until: due, event: .named("go"))),
            Settlement(held[2].lease, .suspend(until: due, event: .named("other"))),
        ])
        #expect(try await store.tell("go", [7], to: .workflow(.flow)))
        #expect(
            try await store.tasks(TaskQuery(.flow)).map(\.state) == [.ready, .ready, .scheduled, .pending])
        #expect(try await store.drainDone() == ["a", "b"])
        // One that begins later sees it as well, and one of its own before that of the workflow.
        let d = try await store.takeOne()
        #expect(try await store.event(.named("go"), for: d.sequence) == [7])
        #expect(try await store.tell("go", [8], to: .message(d.sequence)))
        #expect(try await store.event(.named("go"), for: d.sequence) == [8])
        #expect(try await store.event(.named("go"), for: started.receipts[0].sequence) == [7])
        #expect(try await store.give(.suspend(until: due, event: .named("go")), for: d) == .settled(.ready))
    }

    static func firstStays(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        #expect(try await store.tell("go", [1], to: .message(sequence)))
        #expect(
            try await !store.emit(NewEvent(.named("go"), payload: [2]), to: .message(sequence), durability: .powerLoss))
        try await store.work(.done)
        #expect(try await !store.tell("go", [3], to: .message(sequence)))
        #expect(try await store.event(.named("go"), for: sequence) == [1])
    }

    static func ended(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        try await store.work(.done)
        await expect(.illegalTransition) { try await store.tell("go", to: .message(sequence)) }
        await expect(.unknownMessage) { try await store.tell("go", to: .message(SequenceNumber(99))) }
        await expect(.unknownWorkflow) { try await store.tell("go", to: .workflow(.flow)) }
        try await store.begin([("a", [])])
        #expect(try await store.tell("before", to: .workflow(.flow)))
        try await store.work(.done)
        await expect(.illegalTransition) { try await store.tell("go", to: .workflow(.flow)) }
        #expect(try await !store.tell("before", to: .workflow(.flow)))
    }

    /// It takes none, and is told how it does.
    static func dead(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let task = try await store.begin([("a", []), ("b", ["a"])]).receipts[0].sequence
        try await store.work(.dead(error: "bad"))
        for target in [EventTarget.message(task), .workflow(.flow)] {
            do {
                _ = try await store.tell("go", to: target)
                Issue.record("An event for a dead letter was taken.")
            } catch let error as PenstockError {
                #expect(error.code == .illegalTransition)
                #expect(
                    error.message.contains(
                        "redrive it first (`penstock dead redrive \(task)`), and send the event again"))
            }
        }
        _ = try await store.apply(.redrive, to: .sequences([task]))
        #expect(try await store.tell("go", to: .message(task)))
        #expect(try await store.tell("go", to: .workflow(.flow)))
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("x")
        let held = try await store.takeOne()
        let large = [UInt8](repeating: 0, count: Limits.resultBytesMax + 1)
        await expect(.invalidInput) {
            try await store.record(.named("a"), result: large, on: held.lease, extendingBy: nil)
        }
        await expect(.invalidInput) {
            try await store.record(.named("a"), result: [], on: held.lease, extendingBy: .seconds(-1))
        }
        await expect(.invalidInput) { try await store.tell("a", large, to: .message(sequence)) }
        let most = [UInt8](repeating: 0, count: Limits.resultBytesMax)
        for number in 1...16 {
            _ = try await store.record(
                .init(stored: "\(number)"), result: most, on: held.lease, extendingBy: nil)
        }
        await expect(.invalidInput) {
            try await store.record(.named("17"), result: [1], on: held.lease, extendingBy: nil)
        }
        _ = try await store.record(.named("17"), result: [], on: held.lease, extendingBy: nil)
        #expect(try await store.journal(of: sequence).steps.count == 17)
        for number in 18...Limits.stepCountMax {
            _ = try await store.record(.init(stored: "\(number)"), result: [], on: held.lease, extendingBy: nil)
        }
        await expect(.invalidInput) {
            try await store.record(.named("more"), result: [], on: held.lease, extendingBy: nil)
        }
        for number in 1...Limits.eventCountMax {
            _ = try await store.tell("\(number)", to: .message(sequence))
        }
        await expect(.invalidInput) { try await store.tell("more", to: .message(sequence)) }
    }
}
