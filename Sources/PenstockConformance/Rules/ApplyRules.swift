import PenstockCore
import PenstockTestKit
import Testing

/// What people do to messages by hand.
enum ApplyRules {
    static let cases: ConformanceCase.Rules = [
        "knows the states of each command": knowsStates,
        "cancel takes out of the line": cancel,
        "cancel takes a running message from its worker": cancelRunning,
        "redrive gives a dead letter all its attempts anew": redriveDead,
        "redrive makes a scheduled message ready at once": redriveScheduled,
        "discard throws a dead letter away": discard,
        "moves all of a list or none": allOrNone,
        "moves a queue's messages, oldest first, up to the limit": byQueue,
        "goes by age, whatever the states": oldestOfAnyState,
    ]

    /// One message in each state, in a queue of its own.
    private static func oneOfEach(_ store: any MessageStore) async throws -> [MessageState: SequenceNumber] {
        try await store.configure(.jobs, .create(.steady(9, .dropNewest), ifAbsent: true))
        var found: [MessageState: SequenceNumber] = [:]
        found[.done] = try await store.put("done")
        try await store.work(.done)
        found[.dead] = try await store.put("dead")
        try await store.work(.dead(error: "bad"))
        found[.cancelled] = try await store.put("cancelled")
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready]))
        found[.leased] = try await store.put("leased")
        _ = try await store.takeOne()
        found[.ready] = try await store.put("ready")
        found[.blocked] = try await store.putBlocked("blocked", .steady(9, .dropNewest))
        let tasks = try await store.beginLater("scheduled", then: "pending")
        (found[.scheduled], found[.pending]) = (tasks.first, tasks.last)
        try await store.configure(.jobs, .set(.steady(2, .dropNewest) { $0.groups = .limit(1) }))
        found[.dropped] = try await store.put("dropped")
        for (state, sequence) in found { #expect(try await store.state(of: sequence) == state) }
        return found
    }

    static func knowsStates(_ bench: Bench) async throws {
        let store = try await bench.open()
        for command in LineCommand.allCases {
            let messages = try await oneOfEach(store)
            for state in MessageState.allCases {
                let sequence = try #require(messages[state])
                if command.states.contains(state) {
                    #expect(try await store.apply(command, to: .sequences([sequence])) == 1, "\(command) of \(state)")
                    let isAsked = state == .leased && command.time != nil
                    let expected: MessageState = command == .redrive ? .ready : isAsked ? .leased : .cancelled
                    #expect(try await store.state(of: sequence) == expected)
                } else {
                    await expect(.illegalTransition) { try await store.apply(command, to: .sequences([sequence])) }
                    #expect(try await store.state(of: sequence) == state)
                }
            }
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    static func cancel(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let ready = try await store.put("ready")
        let scheduled = try await store.put(.text("scheduled", due: .after(.seconds(1)))).sequence
        bench.time.advance(by: .milliseconds(5))
        #expect(try await store.apply(.cancel, to: .sequences([scheduled, ready])) == 2)
        for sequence in [ready, scheduled] {
            let record = try await store.record(sequence)
            #expect(record.state == .cancelled)
            #expect(record.reason == .requested)
            #expect(record.finishedAt == bench.time.now)
            #expect(record.due == nil)
        }
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.depths() == .of(kept: 2))
        #expect(try await store.totals() == .of(enqueued: 2, cancelled: 2))
    }

    static func cancelRunning(_ bench: Bench) async throws {
        let (store, operatorStore) = try await bench.openTwo(.steady())
        let verdicts: [Verdict] = [.done, .retry(error: "e"), .dead(error: "e"), .release]
        for verdict in verdicts {
            let message = try await store.putAndTake("it")
            #expect(try await operatorStore.apply(.cancel, to: .sequences([message.sequence])) == 1)
            #expect(try await store.extend([message.lease], by: .seconds(30)) == [false])
            #expect(try await store.give(verdict, for: message) == .leaseLost)
            let record = try await store.record(message.sequence)
            #expect(record.state == .cancelled)
            #expect(record.reason == .requested)
            #expect(record.attempt == 1)
            #expect(record.worker == nil)
        }
        #expect(try await store.depths() == .of(kept: 4))
    }

    static func redriveDead(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 2))
        let sequence = try await store.put("it")
        for _ in 1...2 { try await store.work(.retry(error: "before", after: .zero)) }
        #expect(try await store.state(of: sequence) == .dead)
        #expect(try await store.apply(.redrive, to: .sequences([sequence])) == 1)
        let record = try await store.record(sequence)
        #expect(record.state == .ready)
        #expect(record.reason == nil)
        #expect(record.finishedAt == nil)
        #expect(record.attempts.count == 2, "Its history stays.")
        #expect(try await store.depths() == .of(ready: 1))

        let third = try await store.takeOne()
        #expect(third.attempt == 3, "Attempts go on counting.")
        #expect(try await store.give(.retry(error: "after"), for: third) == .settled(.scheduled))
        #expect(
            try await store.record(sequence).due == bench.time.now + .seconds(1), "The delays start from the first one."
        )
        bench.time.advance(by: .seconds(1))
        try await store.work(.retry(error: "after"))
        let end = try await store.record(sequence)
        #expect(end.state == .dead)
        #expect(end.attempts.map(\.attempt) == [1, 2, 3, 4])
        #expect(try await store.totals() == .of(enqueued: 1, dead: 2, retried: 2))
    }

    static func redriveScheduled(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put(.text("later", due: .after(.seconds(60)))).sequence
        #expect(try await store.apply(.redrive, to: .sequences([sequence])) == 1)
        #expect(try await store.record(sequence).due == nil)
        #expect(try await store.takeOne().sequence == sequence)
    }

    static func discard(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        try await store.work(.dead(error: "bad"))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.apply(.discard, to: .sequences([sequence])) == 1)
        let record = try await store.record(sequence)
        #expect(record.state == .cancelled)
        #expect(record.reason == .discarded)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.attempts.count == 1)
        #expect(try await store.depths() == .of(kept: 1))
        #expect(try await store.totals() == .of(enqueued: 1, dead: 1, cancelled: 1))
    }

    static func allOrNone(_ bench: Bench) async throws {
        let store = try await bench.open()
        let messages = try await oneOfEach(store)
        let ready = try #require(messages[.ready])
        let scheduled = try #require(messages[.scheduled])
        let done = try #require(messages[.done])
        let before = try await store.queueStatus()
        await expect(.unknownMessage) {
            try await store.apply(.cancel, to: .sequences([ready, SequenceNumber(999_999), scheduled]))
        }
        await expect(.illegalTransition) { try await store.apply(.cancel, to: .sequences([ready, scheduled, done])) }
        #expect(try await store.queueStatus() == before)
        #expect(try await store.apply(.cancel, to: .sequences([])) == 0)
        #expect(try await store.apply(.cancel, to: .sequences([ready, scheduled, ready])) == 2, "Each once.")
    }

    static func oldestOfAnyState(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequences = try await store.put(
            (1...8).map { .text("\($0)", priority: $0 % 3, due: $0 % 2 == 0 ? .now : .after(.seconds(60 - $0))) }
        )
        .map(\.sequence)
        _ = try await store.take(2)
        let all = Set(MessageState.allCases)
        for first in [0, 3, 6] {
            #expect(try await store.apply(.cancel, to: .queue(.jobs, states: all, limit: 3)) == min(3, 8 - first))
            let left = try await store.messages(MessageQuery(states: [.scheduled, .ready, .leased])).map(\.sequence)
            #expect(left == Array(sequences.dropFirst(first + 3)))
        }
    }

    static func byQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let letter = try await store.put("letter", to: .mail)
        let sequences = try await store.put((1...6).map { .text("\($0)", priority: $0) }).map(\.sequence)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready], limit: 2)) == 2)
        #expect(
            try await store.messages(MessageQuery(states: [.cancelled])).map(\.sequence) == Array(sequences.prefix(2)))
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled])) == 0)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready], limit: 0)) == 0)
        #expect(
            try await store.apply(.redrive, to: .queue(.jobs, states: Set(MessageState.allCases))) == 0,
            "States that do not know the command are passed over.")
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: Set(MessageState.allCases))) == 4)
        #expect(try await store.state(of: letter) == .ready)
        for states in [Set<MessageState>(), [.done], [.ready]] {
            await expect(.unknownQueue) {
                try await store.apply(.cancel, to: .queue(QueueName(stored: "nowhere"), states: states, limit: 0))
            }
        }
        await expect(.invalidInput) { try await store.apply(.cancel, to: .queue(.jobs, states: [.ready], limit: -1)) }

        try await store.put((1...2500).map { .text("\($0)") })
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 2500, "A large one in steps.")
        #expect(try await store.depths() == .of(kept: 2506))
    }
}
