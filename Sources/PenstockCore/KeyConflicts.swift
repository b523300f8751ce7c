/// What a message leaves to the one with its unique key that takes its place.
package struct ReplacedMessage: Sendable {
    /// When it was due, if it was scheduled.
    package var due: Timestamp?
    /// When the first of those was accepted that were replaced one by the other, ending with it.
    package var since: Timestamp

    /// - Parameter now: the moment at which it is replaced. The first one was not accepted after that: a clock that was set back
    ///   puts nothing off.
    package init(due: Timestamp?, since: Timestamp, now: Timestamp) {
        self.due = due
        self.since = min(since, now)
    }
}

extension KeyConflict {
    /// Whether the arriving message takes the place of one that waits.
    package var replaces: Bool { self != .skip }
}

extension NewMessage {
    /// The moment it is due when accepted at `now` in the place of `replaced`, or `nil` when that is at once.
    package func dueTime(acceptedAt now: Timestamp, replacing replaced: ReplacedMessage?) -> Timestamp? {
        var due = dueTime(acceptedAt: now)
        switch uniqueKey?.onConflict {
        case .throttle:
            if let replaced { due = replaced.due }
        case .debounce:
            if let waitMax = uniqueKey?.waitMax { due = due.map { min($0, (replaced?.since ?? now) + waitMax) } }
        case .skip, .replace, nil:
            break
        }
        return due.flatMap { $0 > now ? $0 : nil }
    }

    /// Whether only the message that it replaces says whether it would expire before it is due.
    package var mayExpireEarly: Bool { expiry != nil && uniqueKey?.onConflict == .throttle }

    /// Throws `invalidInput` when the message would expire before it is due: a throttle has the due time of the one it replaces.
    package func validateExpiry(
        acceptedAt now: Timestamp, replacing replaced: ReplacedMessage?
    ) throws(PenstockError) {
        guard uniqueKey?.onConflict == .throttle, let expires = expiryTime(acceptedAt: now),
            let due = dueTime(acceptedAt: now, replacing: replaced), expires <= due
        else { return }
        throw PenstockError(
            .invalidInput,
            "The message would expire before the one it replaces is due, and never start; nothing was replaced.")
    }

    /// A debounce without a delay would put nothing off. A moment that is past by now is none: its producer may have waited.
    func validateDebounce() throws(PenstockError) {
        guard uniqueKey?.onConflict == .debounce else { return }
        let hasDelay =
            switch due {
            case .now: false
            case .after(let delay): delay > .zero
            case .at: true
            }
        try require(
            hasDelay,
            "A message with debounce has a delay: that is how long no other one must have come for it to be due.")
    }
}
