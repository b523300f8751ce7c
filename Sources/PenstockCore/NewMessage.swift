/// When a message may be claimed for the first time.
public enum Due: Hashable, Sendable {
    /// At once.
    case now
    /// When so much time has passed since its acceptance.
    case after(Duration)
    /// At that moment; at once if it is past.
    case at(Timestamp)
}

/// What to do when the unique key of an arriving message is taken by one that waits or runs.
public enum KeyConflict: String, Sendable, Codable, CaseIterable {
    /// Nothing is enqueued; the receipt names the existing message.
    case skip
    /// The existing message is cancelled (reason `replaced`) and the arriving one enqueued, if it still waits. While
    /// a worker has it, this is `skip`. The arriving message takes the place of the other, so there is always room.
    case replace
}

/// At most one message that waits or runs has a given key in its queue. The key is free again when it has ended; if
/// another message then takes it, a dead letter that had it cannot be redriven before that one has ended, too.
public struct UniqueKey: Hashable, Sendable {
    /// The key.
    public var key: String
    /// What to do when it is taken.
    public var onConflict: KeyConflict

    /// Makes a key.
    public init(_ key: String, onConflict: KeyConflict = .skip) {
        self.key = key
        self.onConflict = onConflict
    }
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
        origin: SequenceNumber? = nil
    ) {
        self.payload = payload
        self.headers = headers
        self.priority = priority
        self.due = due
        self.attemptsMax = attemptsMax
        self.uniqueKey = uniqueKey
        self.group = group
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

    /// Throws ``PenstockError`` with code `invalidInput`, naming the limit, when something is out of its range.
    public func validate(now: Timestamp) throws(PenstockError) {
        try require(
            payload.count <= Limits.payloadBytesMax,
            "The payload has \(payload.count) bytes; the most is \(Limits.payloadBytesMax) (payloadBytesMax).")
        try require(
            Limits.priorityRange.contains(priority),
            "A priority must be \(Limits.priorityRange.lowerBound) to \(Limits.priorityRange.upperBound).")
        if let attemptsMax, !Limits.attemptsRange.contains(attemptsMax) {
            throw PenstockError(
                .invalidInput,
                "Attempts must be \(Limits.attemptsRange.lowerBound) to \(Limits.attemptsRange.upperBound).")
        }
        if case .after(let delay) = due, delay < .zero {
            throw PenstockError(.invalidInput, "A delay cannot be negative.")
        }
        if let moment = dueTime(acceptedAt: now), moment - now > Limits.delayMax {
            throw PenstockError(.invalidInput, "A message cannot be due more than ten years ahead.")
        }
        if let key = uniqueKey?.key {
            try require(
                !key.isEmpty && key.utf8.count <= Limits.uniqueKeyBytesMax && !key.utf8.contains(0),
                "A unique key must have 1 to \(Limits.uniqueKeyBytesMax) bytes, and none of them zero.")
        }
        if let group { try GroupKey.validate(group) }
        if !headers.isEmpty { try HeaderRules.validate(headers) }
    }
}
