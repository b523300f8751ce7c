/// When a message may be claimed for the first time.
public enum Due: Hashable, Sendable {
    /// At once.
    case now
    /// When so much time has passed since its acceptance.
    case after(Duration)
    /// At that moment; at once if it is past.
    case at(Timestamp)
}

/// What to do when another message has the unique key of an arriving one.
public enum KeyConflict: String, Sendable, Codable, CaseIterable {
    /// Nothing is enqueued; the receipt names the existing message.
    case skip
    /// The existing message is cancelled (reason `replaced`) and the arriving one enqueued, if the existing one still waits.
    /// While a worker has it, and when it has ended, this is `skip`. The arriving message takes the place of the other, so there
    /// is always room.
    case replace
    /// As ``replace``, but the arriving message is due when the existing one was, and at once if that was ready or blocked: of
    /// many that come in a while the last is worked, at the time that the first was given.
    case throttle
    /// As ``replace``, and each arrival puts the work off until its own due time: of many that come the last is worked, when
    /// no more have come for a while. ``UniqueKey/waitMax`` bounds that. A message that is due at once is refused.
    case debounce
}

/// How long a message keeps others with its key out.
public enum KeyScope: Hashable, Sendable {
    /// Until it has ended.
    case untilEnded
    /// While it waits: when a worker has it another one may come in line, and runs after it or beside it. A message that comes
    /// back from its worker, or is redriven, has its key again, unless another one has it by then: then it goes on without.
    case whileWaiting
    /// For so long from its acceptance, whatever becomes of it: 1 millisecond to 366 days (``Limits/keyPeriodRange``). A message
    /// that replaces another one within its period has the rest of that.
    case period(Duration)
}

/// At most one message of a queue has a given key, for as long as its scope says; whatever the scopes are, whoever comes with
/// that key meanwhile meets the message that has it. With ``KeyScope/untilEnded`` the key is free again when the message has
/// ended; if another message then takes it, a dead letter that had it cannot be redriven before that one lets it go.
///
/// Messages that were replaced stay in the log, cancelled, so a handler can read there what came meanwhile.
public struct UniqueKey: Hashable, Sendable {
    /// The key.
    public var key: String
    /// How long the message keeps others out.
    public var scope: KeyScope
    /// What to do when the key is taken.
    public var onConflict: KeyConflict
    /// The longest that ``KeyConflict/debounce`` puts the work off, from the acceptance of the first of the messages that were
    /// replaced one by the other: a message is due at its own time, and no later than this. `nil`: for as long as others come.
    public var waitMax: Duration?

    /// Makes a key.
    public init(
        _ key: String, scope: KeyScope = .untilEnded, onConflict: KeyConflict = .skip, waitMax: Duration? = nil
    ) {
        self.key = key
        self.scope = scope
        self.onConflict = onConflict
        self.waitMax = waitMax
    }
}

/// Until when a message may start.
public enum Expiry: Hashable, Sendable {
    /// Until so much time has passed since its acceptance.
    case after(Duration)
    /// Until that moment.
    case at(Timestamp)
}

/// A message on its way into a queue.
public struct NewMessage: Hashable, Sendable {
    /// The payload. Penstock never looks inside.
    public var payload: [UInt8]
    /// Names and values that travel with it.
    public var headers: [String: String]
    /// Higher ones are claimed first.
    public var priority: Int
    /// When it may first be claimed.
    public var due: Due
    /// Attempts allowed; `nil`: as many as the queue's policy says at the time of each failure.
    public var attemptsMax: Int?
    /// Its key, if it is to be unique.
    public var uniqueKey: UniqueKey?
    /// The key of its group, in a queue that has groups; see ``GroupPolicy``.
    public var group: String?
    /// Until when it may start, at each attempt; `nil`: at any time. What becomes of it then is ``QueuePolicy/whenExpired``. A
    /// worker that has it by then goes on. One that has suspended it, to sleep or to wait for an event, has it no more. A replay
    /// and a redriven dead letter have no expiry.
    public var expiry: Expiry?
    /// The message that this one is a replay of.
    public var origin: SequenceNumber?

    /// Makes a message with that payload, due now, with priority 0.
    public init(
        payload: [UInt8],
        headers: [String: String] = [:],
        priority: Int = 0,
        due: Due = .now,
        attemptsMax: Int? = nil,
        uniqueKey: UniqueKey? = nil,
        group: String? = nil,
        expiry: Expiry? = nil,
        origin: SequenceNumber? = nil
    ) {
        self.payload = payload
        self.headers = headers
        self.priority = priority
        self.due = due
        self.attemptsMax = attemptsMax
        self.uniqueKey = uniqueKey
        self.group = group
        self.expiry = expiry
        self.origin = origin
    }

    /// The moment it is due when accepted at `now`, or `nil` when that is at once.
    public func dueTime(acceptedAt now: Timestamp) -> Timestamp? {
        let moment =
            switch due {
            case .now: now
            case .after(let delay): now + delay
            case .at(let moment): moment
            }
        return moment > now ? moment : nil
    }

    /// The moment until which it may start when accepted at `now`.
    public func expiryTime(acceptedAt now: Timestamp) -> Timestamp? {
        switch expiry {
        case .after(let duration): now + duration
        case .at(let moment): moment
        case nil: nil
        }
    }

    /// Throws ``PenstockError`` with code `invalidInput`, naming the limit, when something is out of its range.
    public func validate(now: Timestamp) throws(PenstockError) {
        try require(
            payload.count <= Limits.payloadBytesMax,
            "The payload has \(payload.count) bytes; the most is \(Limits.payloadBytesMax) (payloadBytesMax).")
        try require(
            Limits.priorityRange.contains(priority),
            "A priority must be \(Limits.priorityRange.lowerBound) to \(Limits.priorityRange.upperBound).")
        if let attemptsMax { try Limits.validate(attemptsMax: attemptsMax) }
        if case .after(let delay) = due, delay < .zero {
            throw PenstockError(.invalidInput, "A delay cannot be negative.")
        }
        if let moment = dueTime(acceptedAt: now), moment - now > Limits.delayMax {
            throw PenstockError(.invalidInput, "A message cannot be due more than ten years ahead.")
        }
        try uniqueKey?.validate()
        try validateDebounce()
        try validateExpiry(now: now)
        if let group { try GroupKey.validate(group) }
        if !headers.isEmpty { try HeaderRules.validate(headers) }
    }
}

extension NewMessage {
    private func validateExpiry(now: Timestamp) throws(PenstockError) {
        guard let expires = expiryTime(acceptedAt: now) else { return }
        if case .after(let duration) = expiry {
            try require(duration.wholeMicroseconds > 0, "A message expires after some time, not at once.")
        }
        try require(expires - now <= Limits.delayMax, "A message cannot expire more than ten years ahead (delayMax).")
        try require(
            dueTime(acceptedAt: now).map { $0 < expires } ?? true,
            "The message would expire before it is due, and never start.")
    }
}

extension UniqueKey {
    /// Throws ``PenstockError`` with code `invalidInput` when something is out of its range.
    public func validate() throws(PenstockError) {
        try require(
            !key.isEmpty && key.utf8.count <= Limits.uniqueKeyBytesMax && !key.utf8.contains(0),
            "A unique key must have 1 to \(Limits.uniqueKeyBytesMax) bytes, and none of them zero.")
        if case .period(let period) = scope {
            try require(
                Limits.keyPeriodRange.contains(period),
                "A unique key is held for 1 millisecond to 366 days (keyPeriodRange).")
        }
        if let waitMax {
            try require(
                onConflict == .debounce && (.zero...Limits.delayMax).contains(waitMax),
                "A longest wait of 0 to ten years (delayMax) goes with debounce, and with nothing else.")
        }
    }
}
