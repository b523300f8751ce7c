/// What a full queue does with one message more.
public enum OverflowPolicy: String, Sendable, Codable, CaseIterable {
    /// The arriving message is dropped, on record: it has its place in the log, and holds no unique key.
    case dropNewest
    /// The oldest waiting message is dropped, on record, and the arriving one is taken.
    ///
    /// The oldest is the ready or blocked message with the lowest sequence number or, when there is none, the scheduled one
    /// that is due first; priorities do not count. Each arrival drops one, so a queue that stands above its capacity
    /// stays where it is.
    case dropOldest
    /// The call fails with `queueFull`, and nothing of it is enqueued. Messages that are skipped or that replace
    /// another need no room.
    case fail
    /// The producer waits until there is room. Plain SQL cannot wait: there it fails.
    case wait
}

/// How many messages may wait in a queue, and what happens beyond that.
///
/// Waiting are ready, blocked and scheduled messages; what workers hold does not count. A message that comes back (a retry, a
/// release, a lost worker, a redrive) was accepted once and always finds a place, so a queue may stand above its capacity by
/// what its workers gave back.
public struct Capacity: Hashable, Sendable, Codable {
    /// The most messages that may wait.
    public var count: Int
    /// What happens to one more.
    public var whenFull: OverflowPolicy

    /// Makes a capacity of `count` messages.
    public init(_ count: Int, whenFull: OverflowPolicy) {
        self.count = count
        self.whenFull = whenFull
    }
}

/// How long a queue's log keeps messages that are done, cancelled or dropped.
///
/// A message is forgotten when its age or the count says so, whichever comes first. Messages that wait or run are
/// never pruned. Dead letters stay until they are redriven or discarded, unless `deadAge` is set; `count` does not
/// count them.
public struct Retention: Hashable, Sendable, Codable {
    /// How long after its end a message is kept; `nil`: for ever.
    public var age: Duration?
    /// How many ended messages are kept, those with the highest sequence numbers; `nil`: any number.
    public var count: Int?
    /// How long after its end a dead letter is kept; `nil`: until somebody redrives or discards it.
    public var deadAge: Duration?

    /// Makes a retention: seven days by default.
    public init(age: Duration? = .seconds(7 * 24 * 3600), count: Int? = nil, deadAge: Duration? = nil) {
        self.age = age
        self.count = count
        self.deadAge = deadAge
    }
}

/// What becomes of a message that has not started by the time it expires.
public enum ExpiryPolicy: String, Sendable, Codable, CaseIterable {
    /// It is dropped, on record.
    case drop
    /// It is a dead letter.
    case dead
}

/// Everything a queue can be told. Kept in the store, so it holds for every process.
public struct QueuePolicy: Hashable, Sendable, Codable {
    /// The bound on waiting messages; `nil`: none.
    public var capacity: Capacity?
    /// When failed messages come back, and how often.
    public var retry: RetryPolicy
    /// How long ended messages are kept.
    public var retention: Retention
    /// Which messages of a group may be with workers at the same time; `nil`: its messages have no groups.
    public var groups: GroupPolicy?
    /// How many messages may be leased at the same time, over all workers; `nil`: any number. A lower one takes nothing from
    /// workers: nothing more is claimed until so many have ended.
    public var limit: Int?
    /// A limit on leased messages that the queue shares with others; `nil`: none. See ``MessageStore/setLimit(_:to:)``.
    public var sharedLimit: LimitName?
    /// How many messages of the queue may start in so much time; `nil`: any number.
    public var rate: Rate?
    /// How many messages of one group may start in so much time; `nil`: any number. The queue must have ``groups``.
    public var ratePerKey: Rate?
    /// Whether the groups of the queue share its workers fairly: each has its turn, whatever the others have waiting. Messages
    /// without a group are one together. A queue can be shared fairly without having ``groups`` that wait for permits.
    public var isFair: Bool
    /// What becomes of messages that have not started by the time they expire.
    public var whenExpired: ExpiryPolicy

    /// Makes a policy: unbounded, ten attempts, seven days of log, no groups, no limit and no rate.
    public init(
        capacity: Capacity? = nil,
        retry: RetryPolicy = RetryPolicy(),
        retention: Retention = Retention(),
        groups: GroupPolicy? = nil,
        limit: Int? = nil,
        sharedLimit: LimitName? = nil,
        rate: Rate? = nil,
        ratePerKey: Rate? = nil,
        isFair: Bool = false,
        whenExpired: ExpiryPolicy = .drop
    ) {
        self.capacity = capacity
        self.retry = retry
        self.retention = retention
        self.groups = groups
        self.limit = limit
        self.sharedLimit = sharedLimit
        self.rate = rate
        self.ratePerKey = ratePerKey
        self.isFair = isFair
        self.whenExpired = whenExpired
    }

    /// Whether its messages may name a group.
    package var hasGroupKeys: Bool { groups != nil || isFair }

    /// Whether something else than the messages says how many may be leased, so that none is to be claimed ahead of need.
    package var limitsClaims: Bool { groups != nil || limit != nil || sharedLimit != nil || rate != nil }

    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        if let capacity, !Limits.capacityRange.contains(capacity.count) {
            throw PenstockError(
                .invalidInput,
                "A capacity must be \(Limits.capacityRange.lowerBound) to \(Limits.capacityRange.upperBound) messages.")
        }
        try retry.validate()
        try retention.validate()
        try groups?.validate()
        if let limit { try LimitRecord.validate(limit) }
        try rate?.validate()
        try ratePerKey?.validate()
        try require(
            ratePerKey == nil || groups != nil,
            "A rate per key is for queues with groups; give the queue some, with --fifo or --limit-per-key.")
    }
}

extension QueuePolicy {
    /// What is thrown where a policy was to be replaced that the queue no longer has.
    package static func hasChanged(_ queue: QueueName) -> PenstockError {
        PenstockError(
            .policyChanged, "The policy of the queue '\(queue)' was changed meanwhile; read it, and change that one.")
    }
}
