/// Dead letters of a queue that failed in the same way.
public struct DeadGroup: Hashable, Sendable {
    /// Their queue.
    public var queue: QueueName
    /// How they failed. ``MessageFilter/signature`` chooses them by it.
    public var signature: ErrorSignature
    /// How many there are of those that were looked at.
    public var count: Int
    /// When the first of them died.
    public var firstAt: Timestamp
    /// When the last of them died.
    public var lastAt: Timestamp
    /// The one of them with the highest sequence number.
    public var example: SequenceNumber

    /// Makes a group.
    public init(
        queue: QueueName, signature: ErrorSignature, count: Int, firstAt: Timestamp, lastAt: Timestamp,
        example: SequenceNumber
    ) {
        self.queue = queue
        self.signature = signature
        self.count = count
        self.firstAt = firstAt
        self.lastAt = lastAt
        self.example = example
    }
}

/// Which dead letters to put into groups: the newest in the log, so many of them.
public struct DeadGroupQuery: Sendable {
    /// Only this queue's; `nil`: every queue's.
    public var queue: QueueName?
    /// Only dead letters that come before this one in the log: the cursor to go on with.
    public var preceding: SequenceNumber?
    /// How many dead letters are looked at at most: 1 to ``Limits/lookCountMax``.
    public var lookMax: Int

    /// Makes a query.
    public init(queue: QueueName? = nil, preceding: SequenceNumber? = nil, lookMax: Int = Limits.lookCountMax) {
        self.queue = queue
        self.preceding = preceding
        self.lookMax = lookMax
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    package func validate() throws(PenstockError) {
        try Limits.validate(lookMax: lookMax)
    }

    /// The dead letters, as a query for messages, newest first.
    package var messages: MessageQuery {
        MessageQuery(queue: queue, states: [.dead], preceding: preceding, end: .last, limit: 1, lookMax: lookMax)
    }
}

/// Groups of dead letters, and where to go on.
public struct DeadGroupPage: Hashable, Sendable {
    /// The groups, the largest first; of equal ones that with the later example.
    public var groups: [DeadGroup]
    /// How many dead letters were looked at.
    public var lookedAt: Int
    /// The last one that was looked at, as the look ended before the others: at ``DeadGroupQuery/lookMax`` of them, or before one
    /// that would have begun another group than ``Limits/deadGroupCountMax``. `nil`: all were looked at.
    ///
    /// To go on, ask again with it as ``DeadGroupQuery/preceding``; a group may have more messages there.
    public var next: SequenceNumber?

    /// Makes a page.
    public init(groups: [DeadGroup] = [], lookedAt: Int = 0, next: SequenceNumber? = nil) {
        self.groups = groups
        self.lookedAt = lookedAt
        self.next = next
    }
}

/// Puts dead letters into groups, one after the other, as every store does.
package struct DeadGrouping {
    private struct Key: Hashable {
        var queue: QueueName
        var signature: ErrorSignature
    }

    private var groups: [Key: DeadGroup] = [:]
    private var lookedAt = 0

    package init() {}

    /// Counts a dead letter in, which precedes those before it in the log.
    ///
    /// - Returns: false when it would begin a group more than there may be; it is left out then.
    package mutating func admits(
        _ sequence: SequenceNumber, _ queue: QueueName, _ signature: ErrorSignature, diedAt: Timestamp
    ) -> Bool {
        let key = Key(queue: queue, signature: signature)
        guard groups[key] != nil || groups.count < Limits.deadGroupCountMax else { return false }
        var group =
            groups[key]
            ?? DeadGroup(
                queue: queue, signature: signature, count: 0, firstAt: diedAt, lastAt: diedAt, example: sequence)
        group.count += 1
        group.firstAt = min(group.firstAt, diedAt)
        group.lastAt = max(group.lastAt, diedAt)
        groups[key] = group
        lookedAt += 1
        return true
    }

    /// What was counted in.
    package func page(next: SequenceNumber?) -> DeadGroupPage {
        DeadGroupPage(
            groups: groups.values.sorted { ($0.count, $0.example) > ($1.count, $1.example) }, lookedAt: lookedAt,
            next: next)
    }
}
