/// One message as the log and the line know it.
public struct MessageRecord: Hashable, Sendable {
    /// Its place in the log.
    public var sequence: SequenceNumber
    /// Its queue.
    public var queue: QueueName
    /// Where it is in its life.
    public var state: MessageState
    /// Why, where the state alone does not say.
    public var reason: StateReason?
    /// Higher ones are claimed first.
    public var priority: Int
    /// Attempts begun so far.
    public var attempt: Int
    /// Attempts allowed.
    public var attemptsMax: Int
    /// When it was accepted.
    public var enqueuedAt: Timestamp
    /// When it is due, while it is scheduled.
    public var due: Timestamp?
    /// Until when it may start, or might have; `nil`: at any time, as a dead letter that was put back in line may.
    public var expiresAt: Timestamp?
    /// When its current attempt began, while it is leased.
    public var claimedAt: Timestamp?
    /// When its lease ends unless its worker asks for more time, while it is leased; `nil` as well where that worker goes by another clock
    /// than the store that is asked. Leases go by the boot clock, and this is where the wall clock stands then, as both are when the record
    /// is read.
    public var leaseEndsAt: Timestamp?
    /// The worker that holds it, while it is leased: ``WorkerRecord/id``.
    public var worker: Int64?
    /// When its worker was asked to end so that it can be cancelled, while it is leased.
    public var cancelRequestedAt: Timestamp?
    /// How far the work on it has come, while it is leased and if its worker says so.
    public var progress: ProgressRecord?
    /// When it ended, once it has.
    public var finishedAt: Timestamp?
    /// The key it was enqueued with, held or not.
    public var uniqueKey: String?
    /// How long it keeps others with its key out; `nil`: it was enqueued without a key.
    public var keyScope: KeyScope?
    /// The key of its group.
    public var group: String?
    /// Names and values that travel with it.
    public var headers: [String: String]
    /// The message that this one is a replay of.
    public var origin: SequenceNumber?
    /// How many bytes the payload has.
    public var payloadBytes: Int
    /// The payload, when the query asked for it.
    public var payload: [UInt8]?
    /// The failed attempts, oldest first, when the query asked for them.
    public var attempts: [AttemptRecord]

    /// Makes a record.
    public init(
        sequence: SequenceNumber,
        queue: QueueName,
        state: MessageState,
        reason: StateReason? = nil,
        priority: Int = 0,
        attempt: Int = 0,
        attemptsMax: Int,
        enqueuedAt: Timestamp,
        due: Timestamp? = nil,
        expiresAt: Timestamp? = nil,
        claimedAt: Timestamp? = nil,
        leaseEndsAt: Timestamp? = nil,
        worker: Int64? = nil,
        cancelRequestedAt: Timestamp? = nil,
        progress: ProgressRecord? = nil,
        finishedAt: Timestamp? = nil,
        uniqueKey: String? = nil,
        keyScope: KeyScope? = nil,
        group: String? = nil,
        headers: [String: String] = [:],
        origin: SequenceNumber? = nil,
        payloadBytes: Int,
        payload: [UInt8]? = nil,
        attempts: [AttemptRecord] = []
    ) {
        self.sequence = sequence
        self.queue = queue
        self.state = state
        self.reason = reason
        self.priority = priority
        self.attempt = attempt
        self.attemptsMax = attemptsMax
        self.enqueuedAt = enqueuedAt
        self.due = due
        self.expiresAt = expiresAt
        self.claimedAt = claimedAt
        self.leaseEndsAt = leaseEndsAt
        self.worker = worker
        self.cancelRequestedAt = cancelRequestedAt
        self.progress = progress
        self.finishedAt = finishedAt
        self.uniqueKey = uniqueKey
        self.keyScope = keyScope
        self.group = group
        self.headers = headers
        self.origin = origin
        self.payloadBytes = payloadBytes
        self.payload = payload
        self.attempts = attempts
    }
}

extension MessageRecord {
    /// How the message failed, if it is a dead letter and the record carries its attempts.
    public var errorSignature: ErrorSignature? {
        state == .dead ? ErrorSignature(reason, attempts.last?.error ?? "") : nil
    }
}

/// One attempt that did not end well.
public struct AttemptRecord: Hashable, Sendable {
    /// Which attempt: 1 for the first.
    public var attempt: Int
    /// In which way it failed.
    public var outcome: AttemptOutcome
    /// What went wrong; of a long text the end.
    public var error: String
    /// The worker that made the attempt: a name for people.
    public var worker: String
    /// When the worker claimed the message.
    public var startedAt: Timestamp
    /// When the attempt was given up.
    public var endedAt: Timestamp

    /// Makes a record.
    public init(
        attempt: Int,
        outcome: AttemptOutcome,
        error: String,
        worker: String,
        startedAt: Timestamp,
        endedAt: Timestamp
    ) {
        self.attempt = attempt
        self.outcome = outcome
        self.error = error
        self.worker = worker
        self.startedAt = startedAt
        self.endedAt = endedAt
    }
}
