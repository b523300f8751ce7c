/// What becomes of a group in order when one of its messages is a dead letter.
public enum OnDead: String, Sendable, Codable, CaseIterable {
    /// The next message goes on.
    case next
    /// The group is held: nothing of it goes on until the dead letter is redriven, discarded or forgotten.
    case hold
}

/// Which messages of a group may be with workers at the same time.
///
/// A message names its group by a key when it is enqueued. Of each group there are so many permits. A message that would be
/// ready and finds none is ``MessageState/blocked``, and takes room in its queue; when a permit comes free, one that is blocked
/// has it in the same transaction. So blocked messages are in nobody's way: a claim never looks at them. A permit belongs to the
/// message and is a row of the store, so it outlives the worker that dies: when the message is back in line it has its permit.
///
/// Messages without a group are held up by none.
public enum GroupPolicy: Hashable, Sendable, Codable {
    /// One at a time, in the order of the log: the next message of a group starts when the one before it has ended.
    ///
    /// A message that is tried again, or stops to wait, keeps the group waiting. One that was enqueued with a delay holds up
    /// nobody before it is due, and then takes its place in the order. Priorities say which group comes first, not the order
    /// within one.
    case fifo(onDead: OnDead = .next)
    /// Up to so many at a time, by priority and then in the order of the log. A message that waits for its next attempt lets
    /// another one go ahead.
    case limit(Int)

    /// How many permits a group has.
    package var permitCount: Int {
        switch self {
        case .fifo: 1
        case .limit(let count): count
        }
    }

    /// Whether a message that has a permit keeps it in `state`. Ready and leased ones always do.
    package static func keepsPermit(_ policy: GroupPolicy?, in state: MessageState) -> Bool {
        switch state {
        case .ready, .leased: true
        case .scheduled: if case .fifo = policy { true } else { false }
        case .dead: policy == .fifo(onDead: .hold)
        case .pending, .blocked, .done, .dropped, .cancelled: false
        }
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the number is out of its range.
    public func validate() throws(PenstockError) {
        if case .limit(let count) = self, !Limits.groupLimitRange.contains(count) {
            throw PenstockError(
                .invalidInput,
                "A limit per key must be \(Limits.groupLimitRange.lowerBound) to \(Limits.groupLimitRange.upperBound) messages."
            )
        }
    }
}

/// What the key of a group can be.
package enum GroupKey {
    /// Throws `invalidInput` when `key` is none.
    package static func validate(_ key: String) throws(PenstockError) {
        try require(
            !key.isEmpty && key.utf8.count <= Limits.groupKeyBytesMax && !key.utf8.contains(0),
            "The key of a group must have 1 to \(Limits.groupKeyBytesMax) bytes (groupKeyBytesMax), and none of them zero."
        )
    }

    /// Throws `invalidInput` when `key` is none, or no group may weigh that much.
    package static func validate(_ key: String, weight: Int) throws(PenstockError) {
        try validate(key)
        try require(
            Limits.weightRange.contains(weight),
            "A group weighs \(Limits.weightRange.lowerBound) to \(Limits.weightRange.upperBound) (weightRange).")
    }

    /// That the groups of a queue have no permits that could be kept from them.
    package static func noPermits(_ queue: QueueName) -> PenstockError {
        PenstockError(
            .invalidInput,
            "The queue '\(queue)' has no groups that can be paused; `penstock queue set` gives it some, with --fifo or "
                + "--limit-per-key.")
    }

    /// That a queue is not shared fairly.
    package static func notFair(_ queue: QueueName) -> PenstockError {
        PenstockError(
            .invalidInput, "The queue '\(queue)' is not shared fairly; `penstock queue set` has it shared, with --fair."
        )
    }

    /// That the messages of a queue have no groups at all.
    package static func noGroups(_ queue: QueueName) -> PenstockError {
        PenstockError(
            .invalidInput,
            "The queue '\(queue)' has no groups; `penstock queue set` gives it some, with --fifo, --limit-per-key or --fair."
        )
    }
}

/// Which groups of a queue to read.
public struct GroupQuery: Sendable {
    /// The queue.
    public var queue: QueueName
    /// Only the group with this key.
    public var key: String?
    /// Only those whose key comes after this one, in the order of bytes.
    public var after: String?
    /// How many at most.
    public var limit: Int
    /// How far a store has to count those of a group that wait for a permit; `nil`: all of them.
    package private(set) var countMax: Int?

    /// Makes a query for up to `limit` groups.
    public init(queue: QueueName, key: String? = nil, after: String? = nil, limit: Int = 100) {
        self.queue = queue
        self.key = key
        self.after = after
        self.limit = limit
    }

    /// Makes a query that wants to know of no more than `countMax` messages that wait in each group.
    package init(queue: QueueName, key: String? = nil, after: String? = nil, limit: Int, countMax: Int?) {
        self.init(queue: queue, key: key, after: after, limit: limit)
        self.countMax = countMax
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the limit is out of its range.
    public func validate() throws(PenstockError) {
        try Limits.validate(limit, "groups")
        if let countMax, countMax < 1 {
            throw PenstockError(.invalidInput, "Messages of a group are counted to 1 at least.")
        }
    }
}

/// One group, as it is now.
public struct GroupRecord: Hashable, Sendable {
    /// Its key.
    public var key: String
    /// How many of its messages have a permit: those that are ready or leased and, of a group in order, the one that waits for
    /// its next attempt or, as a dead letter, holds the group.
    public var permitted: Int
    /// How many wait for a permit.
    public var blocked: Int
    /// Whether it is paused.
    public var isPaused: Bool
    /// The dead letter that holds it.
    public var heldBy: SequenceNumber?
    /// Until when a worker has put its starts off; ``QueueChange/resumeGroup(_:)`` ends that.
    public var heldUntil: Timestamp?
    /// How much it weighs in a queue that is shared fairly.
    public var weight: Int

    /// Makes a record.
    public init(
        key: String, permitted: Int, blocked: Int, isPaused: Bool, heldBy: SequenceNumber? = nil,
        heldUntil: Timestamp? = nil, weight: Int = 1
    ) {
        self.key = key
        self.permitted = permitted
        self.blocked = blocked
        self.isPaused = isPaused
        self.heldBy = heldBy
        self.heldUntil = heldUntil
        self.weight = weight
    }
}

/// A limit that queues share, as it is now.
public struct LimitRecord: Hashable, Sendable {
    /// Its name.
    public var name: LimitName
    /// How many messages may be leased at the same time.
    public var count: Int
    /// How many are.
    public var leased: Int
    /// The queues that share it, by name.
    public var queues: [QueueName]

    /// Makes a record.
    public init(name: LimitName, count: Int, leased: Int, queues: [QueueName]) {
        self.name = name
        self.count = count
        self.leased = leased
        self.queues = queues
    }

    /// Throws `invalidInput` when no limit may be that high or low.
    package static func validate(_ count: Int) throws(PenstockError) {
        try require(
            Limits.leasedLimitRange.contains(count),
            "A limit must be \(Limits.leasedLimitRange.lowerBound) to \(Limits.leasedLimitRange.upperBound) messages.")
    }

    /// That a limit cannot be removed.
    package static func isShared(_ name: LimitName, _ queues: [QueueName]) -> PenstockError {
        PenstockError(
            .illegalTransition,
            "The limit '\(name)' is shared by \(queues.map { "'\($0)'" }.joined(separator: ", ")); take it from "
                + "\(queues.count == 1 ? "that queue" : "those queues") first, with `penstock queue set QUEUE --share-limit none`."
        )
    }
}
