import PenstockCore
import Testing

/// Every state against every event: what is legal goes exactly where it should, and everything else nowhere.
@Suite struct LifecycleTests {
    private static let now = Timestamp(microseconds: 1_700_000_000_000_000)
    /// 10 s, 20 s, 40 s, 60 s, 60 s, …
    private static let policy = RetryPolicy(
        attemptsMax: 99, base: .seconds(10), factor: 2, cap: .seconds(60), jitter: 0.5)

    /// Attempt 3 of a message that was redriven after its first one: the second that counts, of five allowed.
    private static func situation(_ state: MessageState) -> Lifecycle.Situation {
        Lifecycle.Situation(state: state, attempt: 3, forgiven: 1, attemptsMax: 5)
    }

    private static func outcome(
        _ state: MessageState, _ reason: StateReason? = nil, due: Timestamp? = nil, attempt: Int = 3,
        forgiven: Int = 1, failure: Lifecycle.Failure? = nil
    ) -> Lifecycle.Outcome {
        Lifecycle.Outcome(
            state: state, reason: reason, due: due, attempt: attempt, forgiven: forgiven, failure: failure)
    }

    /// Every event, and where it takes a message from each state that knows it.
    private typealias Row = (name: String, event: Lifecycle.Event, to: [MessageState: Lifecycle.Outcome])

    private static let table: [Row] = [
        ("due", .due, [.scheduled: outcome(.ready)]),
        ("claimed", .claimed, [.ready: outcome(.leased, attempt: 4)]),
        ("done", .settled(.done), [.leased: outcome(.done)]),
        ("release", .settled(.release), [.leased: outcome(.ready, attempt: 2)]),
        (
            "rejected", .settled(.dead(error: "e", reason: .rejected)),
            [.leased: outcome(.dead, .rejected, failure: Lifecycle.Failure(.rejected, "e"))]
        ),
        (
            "undecodable", .settled(.dead(error: "e", reason: .undecodable)),
            [.leased: outcome(.dead, .undecodable, failure: Lifecycle.Failure(.undecodable, "e"))]
        ),
        (
            // The second attempt that counts: 20 s, of which chance takes half of the half that it may.
            "retry by policy", .settled(.retry(error: "e")),
            [.leased: outcome(.scheduled, due: now + .seconds(15), failure: Lifecycle.Failure(.failed, "e"))]
        ),
        (
            "retry by worker", .settled(.retry(error: "e", outcome: .timedOut, after: .seconds(7))),
            [.leased: outcome(.scheduled, due: now + .seconds(7), failure: Lifecycle.Failure(.timedOut, "e"))]
        ),
        (
            "retry at once", .settled(.retry(error: "e", after: .zero)),
            [.leased: outcome(.ready, failure: Lifecycle.Failure(.failed, "e"))]
        ),
        (
            "worker died", .lost(.workerDied),
            [
                .leased: outcome(
                    .ready,
                    failure: Lifecycle.Failure(.workerDied, "The worker's process ended before it settled the message.")
                )
            ]
        ),
        (
            "lease expired", .lost(.leaseExpired),
            [
                .leased: outcome(
                    .ready,
                    failure: Lifecycle.Failure(
                        .leaseExpired, "The lease ended before the worker settled or extended it."))
            ]
        ),
        (
            "displaced", .displaced,
            [
                .scheduled: outcome(.dropped, .dropOldest), .blocked: outcome(.dropped, .dropOldest),
                .ready: outcome(.dropped, .dropOldest),
            ]
        ),
        (
            "replaced", .replaced,
            [
                .scheduled: outcome(.cancelled, .replaced), .blocked: outcome(.cancelled, .replaced),
                .ready: outcome(.cancelled, .replaced),
            ]
        ),
        (
            "cancelled", .cancelled,
            [
                .pending: outcome(.cancelled, .requested), .scheduled: outcome(.cancelled, .requested),
                .blocked: outcome(.cancelled, .requested), .ready: outcome(.cancelled, .requested),
                .leased: outcome(.cancelled, .requested),
            ]
        ),
        ("released", .released(due: nil), [.pending: outcome(.ready)]),
        (
            "released later", .released(due: now + .seconds(5)),
            [.pending: outcome(.scheduled, due: now + .seconds(5))]
        ),
        ("parent failed", .parentFailed, [.pending: outcome(.cancelled, .parentFailed)]),
        ("revived", .revived, [.cancelled: outcome(.pending)]),
        (
            "suspend", .settled(.suspend(until: now + .seconds(9))),
            [.leased: outcome(.scheduled, due: now + .seconds(9), attempt: 2)]
        ),
        ("suspend until now", .settled(.suspend(until: now)), [.leased: outcome(.ready, attempt: 2)]),
        (
            "suspend for too long", .settled(.suspend(until: now + .seconds(11 * 365 * 24 * 3600))),
            [.leased: outcome(.scheduled, due: now + Limits.delayMax, attempt: 2)]
        ),
        ("redriven", .redriven, [.scheduled: outcome(.ready), .dead: outcome(.ready, forgiven: 3)]),
        ("blocked", .blocked, [.ready: outcome(.blocked)]),
        ("permitted", .permitted, [.blocked: outcome(.ready)]),
        ("discarded", .discarded, [.dead: outcome(.cancelled, .discarded)]),
        (
            "expired", .expired(.drop),
            [
                .pending: outcome(.dropped, .expired), .scheduled: outcome(.dropped, .expired),
                .blocked: outcome(.dropped, .expired), .ready: outcome(.dropped, .expired),
            ]
        ),
        (
            "expired, to be dead", .expired(.dead),
            [
                .pending: outcome(.dead, .expired), .scheduled: outcome(.dead, .expired),
                .blocked: outcome(.dead, .expired), .ready: outcome(.dead, .expired),
            ]
        ),
    ]

    private static func result(
        of event: Lifecycle.Event, on situation: Lifecycle.Situation, random: Double = 0.5
    ) -> Lifecycle.Outcome? {
        Lifecycle.outcome(of: event, on: situation, now: now, policy: policy, random: random)
    }

    /// A store looks up how often a message may be tried only where that matters.
    @Test(arguments: MessageState.allCases)
    func attemptsCountForFewEvents(on state: MessageState) {
        for (name, event, _) in Self.table where !event.countsAttempts {
            let outcomes = [1, 3, 1000].map { attemptsMax in
                var situation = Self.situation(state)
                situation.attemptsMax = attemptsMax
                return Self.result(of: event, on: situation)
            }
            #expect(Set(outcomes).count == 1, "\(state), \(name)")
        }
    }

    @Test(arguments: MessageState.allCases)
    func everyEvent(on state: MessageState) {
        for (name, event, to) in Self.table {
            #expect(Self.result(of: event, on: Self.situation(state)) == to[state], "\(state), \(name)")
        }
    }

    @Test func endedStatesKnowOnlyWhatADeadLetterKnows() {
        for state in MessageState.allCases where state.isFinished {
            let known = Self.table.filter { $0.to[state] != nil }.map(\.name)
            let expected: [MessageState: [String]] = [.dead: ["redriven", "discarded"], .cancelled: ["revived"]]
            #expect(known == expected[state] ?? [])
        }
    }

    /// The attempts that count are those since the last redrive, and the allowed ones are the message's.
    @Test(arguments: [
        (attempt: 1, forgiven: 0, attemptsMax: 1, isLast: true),
        (1, 0, 2, false),
        (2, 0, 2, true),
        (3, 0, 2, true),
        (3, 1, 2, true),
        (3, 2, 2, false),
        (1000, 0, 1000, true),
    ])
    func attemptsUsedUp(attempt: Int, forgiven: Int, attemptsMax: Int, isLast: Bool) {
        let situation = Lifecycle.Situation(
            state: .leased, attempt: attempt, forgiven: forgiven, attemptsMax: attemptsMax)
        let failures: [Lifecycle.Event] = [
            .settled(.retry(error: "e")), .settled(.retry(error: "e", after: .zero)),
            .settled(.retry(error: "e", after: .seconds(1))), .lost(.workerDied), .lost(.leaseExpired),
        ]
        for event in failures {
            let outcome = Self.result(of: event, on: situation)
            #expect((outcome?.state == .dead) == isLast)
            #expect((outcome?.reason == .attemptsExhausted) == isLast)
            #expect(outcome?.attempt == attempt)
            #expect(outcome?.forgiven == forgiven)
            #expect(outcome?.failure != nil)
            if isLast { #expect(outcome?.due == nil) }
        }
        let release = Self.result(of: .settled(.release), on: situation)
        #expect(release?.state == .ready, "A release counts no attempt, and so cannot be the last.")
    }

    /// A worker that was asked to end may be done all the same. Nothing else brings its message back.
    @Test func whatIsToBeCancelledIsDoneOrCancelled() {
        var situation = Self.situation(.leased)
        situation.isToBeCancelled = true
        for (name, event, to) in Self.table where to[.leased] != nil && name != "done" {
            let failure = to[.leased]?.failure
            #expect(
                Self.result(of: event, on: situation) == Self.outcome(.cancelled, .requested, failure: failure),
                "\(name)")
        }
        #expect(Self.result(of: .settled(.done), on: situation) == Self.outcome(.done))
    }

    @Test func retryIsPutOffByTenYearsAtMost() {
        let far = Lifecycle.Event.settled(.retry(error: "e", after: .seconds(Int64.max)))
        let outcome = Self.result(of: far, on: Self.situation(.leased))
        #expect(outcome?.due == Self.now + Limits.delayMax)
    }

    @Test func delayCountsFromTheLastRedrive() {
        let situation = Lifecycle.Situation(state: .leased, attempt: 8, forgiven: 7, attemptsMax: 5)
        let outcome = Self.result(of: .settled(.retry(error: "e")), on: situation, random: 0)
        #expect(outcome?.due == Self.now + .seconds(10))
    }

    @Test func aCommandsStatesAreThoseThatKnowItsEvent() {
        for command in LineCommand.allCases {
            let knowing = MessageState.allCases.filter { state in
                Self.result(of: command.event, on: Self.situation(state)) != nil
            }
            #expect(command.states == Set(knowing), "\(command)")
        }
    }

    @Test func waitingAndFinishedStates() {
        #expect(MessageState.allCases.filter(\.isWaiting) == [.scheduled, .blocked, .ready])
        #expect(MessageState.allCases.filter(\.isFinished) == [.done, .dead, .dropped, .cancelled])
    }
}
