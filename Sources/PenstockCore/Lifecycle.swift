/// What happens to a message, as one pure function: where it is and what befalls it in, where it goes out.
///
/// Stores carry out what this says and decide nothing themselves. Whether a lease is still held is the store's to
/// check, before it asks.
public enum Lifecycle {
    /// What the decision needs to know of a message.
    ///
    /// Its numbers may be any: a store reads them from where others can write. What is counted from them stops at the ends
    /// of the range.
    public struct Situation: Hashable, Sendable {
        /// Where the message is.
        public var state: MessageState
        /// Attempts begun so far, the running one included.
        public var attempt: Int
        /// Attempts that no longer count: those before the last redrive.
        public var forgiven: Int
        /// Attempts allowed.
        public var attemptsMax: Int
        /// Whether it is leased, and its worker was asked to end so that it can be cancelled.
        public var isToBeCancelled: Bool

        var counted: Int { attempt.subtractingClamped(forgiven) }

        /// Makes a situation.
        public init(
            state: MessageState, attempt: Int = 0, forgiven: Int = 0, attemptsMax: Int, isToBeCancelled: Bool = false
        ) {
            self.state = state
            self.attempt = attempt
            self.forgiven = forgiven
            self.attemptsMax = attemptsMax
            self.isToBeCancelled = isToBeCancelled
        }
    }

    /// What befalls a message.
    public enum Event: Sendable {
        /// Its due time came.
        case due
        /// A worker took it.
        case claimed
        /// The worker that holds it gave its verdict.
        case settled(Verdict)
        /// The worker that held it is gone: its process died, or its lease ended.
        case lost(AttemptOutcome)
        /// The overflow policy discards it to make place for a newer one.
        case displaced
        /// A newer message takes its place and its key.
        case replaced
        /// Somebody takes it out of the line.
        case cancelled
        /// Somebody puts it back in line: a dead letter, or a scheduled message that is to run now.
        case redriven
        /// Somebody throws the dead letter away.
        case discarded
        /// It waits for no other message any more, and is due then.
        case released(due: Timestamp?)
        /// A message that it waits for was not done.
        case parentFailed
        /// The message because of which it was cancelled has been put back in line.
        case revived
        /// Its group has no permit for it.
        case blocked
        /// It has a permit of its group.
        case permitted
        /// It has not started by the time it expires, and its queue's policy is that.
        case expired(ExpiryPolicy)

        /// Whether it matters how often the message may be tried. What does not end an attempt in vain goes by nothing else of it.
        package var countsAttempts: Bool {
            switch self {
            case .settled(.retry), .lost: true
            default: false
            }
        }
    }

    /// Where a message goes.
    public struct Outcome: Hashable, Sendable {
        /// Where it goes.
        public var state: MessageState
        /// Why, where the state alone does not say.
        public var reason: StateReason?
        /// When it is due, if `state` is scheduled.
        public var due: Timestamp?
        /// Attempts begun so far.
        public var attempt: Int
        /// Attempts that no longer count.
        public var forgiven: Int
        /// The failed attempt to keep on record.
        public var failure: Failure?

        /// Makes an outcome.
        public init(
            state: MessageState,
            reason: StateReason? = nil,
            due: Timestamp? = nil,
            attempt: Int,
            forgiven: Int,
            failure: Failure? = nil
        ) {
            self.state = state
            self.reason = reason
            self.due = due
            self.attempt = attempt
            self.forgiven = forgiven
            self.failure = failure
        }
    }

    /// How an attempt failed.
    public struct Failure: Hashable, Sendable {
        /// In which way it failed.
        public var outcome: AttemptOutcome
        /// What went wrong; of a long text the end.
        public var error: String

        /// Makes a failure; of an error beyond ``Limits/errorTextBytesMax`` the end is kept.
        public init(_ outcome: AttemptOutcome, _ error: String) {
            self.outcome = outcome
            self.error = ErrorText.kept(error)
        }
    }

    /// Where a message in `situation` goes when `event` befalls it at `now`.
    ///
    /// - Parameters:
    ///   - event: what befalls the message.
    ///   - situation: where it is, and how often it was tried.
    ///   - now: the wall clock's time, from which a retry's due time is counted.
    ///   - policy: when a failed message comes back. How often it may be tried is in `situation`.
    ///   - random: a number in `0..<1`, for the jitter of a retry.
    /// - Returns: the outcome, or `nil` when a message in that state does not know the event. Nothing may change then.
    public static func outcome(
        of event: Event,
        on situation: Situation,
        now: Timestamp,
        policy: RetryPolicy,
        random: Double
    ) -> Outcome? {
        let attempt = situation.attempt
        let forgiven = situation.forgiven
        func to(_ state: MessageState, _ reason: StateReason? = nil) -> Outcome {
            Outcome(state: state, reason: reason, attempt: attempt, forgiven: forgiven)
        }

        switch (situation.state, event) {
        case (.leased, .settled(let verdict)) where situation.isToBeCancelled && !verdict.isDone:
            // Whatever else its worker says, it is not tried again.
            var cancelled = to(.cancelled, .requested)
            cancelled.failure = verdict.failure
            return cancelled
        case (.leased, .lost(let outcome)) where situation.isToBeCancelled:
            var cancelled = to(.cancelled, .requested)
            cancelled.failure = Failure(outcome, lostText(outcome))
            return cancelled
        case (.scheduled, .due):
            return to(.ready)
        case (.ready, .claimed):
            return Outcome(state: .leased, attempt: attempt.addingClamped(1), forgiven: forgiven)
        case (.leased, .settled(.done)):
            return to(.done)
        case (.leased, .settled(.release)):
            return Outcome(state: .ready, attempt: max(attempt, 1) - 1, forgiven: forgiven)
        case (.leased, .settled(.dead(let error, let reason))):
            var dead = to(.dead, reason)
            dead.failure = failure(error, reason)
            return dead
        case (.leased, .settled(.retry(let error, let outcome, let delay, _))):
            return retry(
                situation, Failure(outcome, error), now: now,
                after: delay ?? policy.delay(afterAttempt: situation.counted, random: random))
        case (.leased, .lost(let outcome)):
            // A lost worker says nothing against the message: it goes back at once, so that work resumes within a
            // second. Only a message that has been lost as often as it may be tried is taken out of the line.
            return retry(situation, Failure(outcome, lostText(outcome)), now: now, after: .zero)
        case (.ready, .displaced), (.blocked, .displaced), (.scheduled, .displaced):
            return to(.dropped, .dropOldest)
        case (.ready, .replaced), (.blocked, .replaced), (.scheduled, .replaced):
            return to(.cancelled, .replaced)
        case (.pending, .cancelled), (.blocked, .cancelled), (.ready, .cancelled), (.scheduled, .cancelled),
            (.leased, .cancelled):
            return to(.cancelled, .requested)
        case (.scheduled, .redriven):
            return to(.ready)
        case (.dead, .redriven):
            return Outcome(state: .ready, attempt: attempt, forgiven: attempt)
        case (.dead, .discarded):
            return to(.cancelled, .discarded)
        case (.leased, .settled(.suspend(let due, _))):
            // It stops to wait, not because anything failed: the attempt does not count.
            var next = Outcome(state: .ready, attempt: max(attempt, 1) - 1, forgiven: forgiven)
            if due > now { (next.state, next.due) = (.scheduled, min(due, now + Limits.delayMax)) }
            return next
        case (.pending, .released(let due)):
            var next = to(due == nil ? .ready : .scheduled)
            next.due = due
            return next
        case (.pending, .parentFailed):
            return to(.cancelled, .parentFailed)
        case (.cancelled, .revived):
            return to(.pending)
        case (.ready, .blocked):
            return to(.blocked)
        case (.blocked, .permitted):
            return to(.ready)
        case (.pending, .expired(let policy)), (.blocked, .expired(let policy)), (.ready, .expired(let policy)),
            (.scheduled, .expired(let policy)):
            return to(policy == .dead ? .dead : .dropped, .expired)
        default:
            return nil
        }
    }

    private static func retry(
        _ situation: Situation, _ failure: Failure, now: Timestamp, after delay: Duration
    ) -> Outcome {
        var next = Outcome(
            state: .ready, attempt: situation.attempt, forgiven: situation.forgiven, failure: failure)
        if situation.counted >= situation.attemptsMax {
            next.state = .dead
            next.reason = .attemptsExhausted
        } else if delay > .zero {
            next.state = .scheduled
            next.due = now + min(delay, Limits.delayMax)
        }
        return next
    }

    fileprivate static func failure(_ error: String, _ reason: StateReason) -> Failure {
        Failure(reason == .undecodable ? .undecodable : .rejected, error)
    }

    private static func lostText(_ outcome: AttemptOutcome) -> String {
        outcome == .workerDied
            ? "The worker's process ended before it settled the message."
            : "The lease ended before the worker settled or extended it."
    }
}

extension Verdict {
    var isDone: Bool { if case .done = self { true } else { false } }

    /// What goes on record with a message that is cancelled instead.
    fileprivate var failure: Lifecycle.Failure? {
        switch self {
        case .done, .release, .suspend: nil
        case .retry(let error, let outcome, _, _): Lifecycle.Failure(outcome, error)
        case .dead(let error, let reason): Lifecycle.failure(error, reason)
        }
    }
}

/// The part of an error's text that is kept.
package enum ErrorText {
    /// `text`, or its end when it is longer than ``Limits/errorTextBytesMax``: what went wrong stands last.
    package static func kept(_ text: String) -> String {
        guard text.utf8.count > Limits.errorTextBytesMax else { return text }
        let mark = "…"
        var tail = text.utf8.suffix(Limits.errorTextBytesMax - mark.utf8.count)
        // A cut in the middle of a character would show as a replacement character: continuation bytes go.
        while let first = tail.first, first & 0b1100_0000 == 0b1000_0000 { tail = tail.dropFirst() }
        return mark + String(decoding: tail, as: UTF8.self)
    }
}
