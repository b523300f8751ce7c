// What people and programs do by hand with queues and messages.

/// What to do with a queue.
public enum QueueChange: Sendable {
    /// Makes it. Throws `queueExists` when there is one of that name, unless `ifAbsent` is true: then that one stays
    /// as it is.
    case create(QueuePolicy, ifAbsent: Bool)
    /// Gives it another policy. What waits beyond a smaller capacity stays; it only keeps new messages out.
    ///
    /// With `replacing` it has to have that one, else `policyChanged` is thrown: whoever changes a part of what it has read undoes
    /// nothing that somebody else has changed meanwhile.
    case set(QueuePolicy, replacing: QueuePolicy? = nil)
    /// Refuses claims until `resume`. Messages are still accepted, and running ones go on.
    case pause
    /// Allows claims again.
    case resume
    /// Keeps messages of a group from being claimed until `resumeGroup`; those that workers have go on. A group need not have
    /// messages for that.
    case pauseGroup(String)
    /// Allows claims from a group again.
    case resumeGroup(String)
    /// Says how much a group weighs against the others in a queue that is shared fairly: one that weighs 3 has three messages
    /// worked while others have one. All groups weigh 1 unless they are told otherwise. It counts from the next message on that is
    /// enqueued.
    case setGroupWeight(String, Int)
    /// Removes it with all its messages, its history and its schedules. Throws `illegalTransition` when messages wait or run, unless `force`
    /// is true; then none of them was removed.
    ///
    /// A large queue is removed in steps. From the first one on nothing is accepted, claimed or put back in line, until
    /// the queue is gone. When the process dies between two of them, the queue stays so, and the call can be made again.
    case delete(force: Bool)
}

/// What to do with messages by hand.
public enum LineCommand: Hashable, Sendable {
    /// Takes pending, scheduled, blocked, ready and leased messages out of the line at once. A worker that has one loses its lease.
    case cancel
    /// Takes pending, scheduled, blocked and ready messages out of the line at once, and asks the workers that have the others to end.
    ///
    /// A message that runs stays leased meanwhile. When its worker says that it is done, it is done. Whatever else the
    /// worker says, its death, or the end of the time makes it cancelled, and it is not tried again. To ask again can
    /// only make the time shorter.
    case requestCancel(within: Duration = Limits.cancelTime)
    /// Puts dead letters back in line with new attempts, and makes scheduled messages ready at once.
    case redrive
    /// Throws dead letters away.
    case discard

    /// The states that know the command.
    public var states: Set<MessageState> {
        switch self {
        case .cancel, .requestCancel: [.pending, .scheduled, .blocked, .ready, .leased]
        case .redrive: [.scheduled, .dead]
        case .discard: [.dead]
        }
    }

    /// What the command is to a message, unless a worker is asked to end.
    package var event: Lifecycle.Event {
        switch self {
        case .cancel, .requestCancel: .cancelled
        case .redrive: .redriven
        case .discard: .discarded
        }
    }
}

extension LineCommand: CaseIterable {
    /// Every command, with the time that it gives where nobody says another.
    public static let allCases: [LineCommand] = [.cancel, .requestCancel(), .redrive, .discard]

    /// How long a worker has that is asked to end; `nil` when none is asked.
    package var time: Duration? { if case .requestCancel(let time) = self { time } else { nil } }

    /// Throws ``PenstockError`` with code `invalidInput` when no worker can be given so much time, or so little.
    package func validate() throws(PenstockError) {
        guard let time else { return }
        try require(
            Limits.leaseRange.contains(time),
            "The time to end in is from 100 milliseconds to 7 days, as a lease is (leaseRange); this one is \(time).")
    }
}

/// Which messages a command is for.
public enum Selection: Sendable {
    /// These, all of them or none.
    case sequences([SequenceNumber])
    /// Those of a queue that are in one of `states`, in that group if a key is given, and pass the filter: oldest first, up to
    /// `limit`. A large selection is gone through in steps, and what comes into one of these states between two of them is among it.
    ///
    /// With `expected` they are counted first (``MessageStore/count(_:for:)``). When more match than are expected, nothing is moved,
    /// and `selectionChanged` is thrown; no more than that are moved in any case.
    case queue(
        QueueName, states: Set<MessageState>, group: String? = nil, matching: MessageFilter = MessageFilter(),
        limit: Int? = nil, expected: Int? = nil)
}

extension Selection: ExpressibleByArrayLiteral {
    /// Selects these messages, all of them or none.
    public init(arrayLiteral elements: SequenceNumber...) {
        self = .sequences(elements)
    }
}

/// What to forget.
public struct PruneRequest: Sendable {
    /// Only this queue's; `nil`: every queue's.
    public var queue: QueueName?
    /// Instead of the queue's own.
    public var retention: Retention?
    /// How many messages at most. In a database a step ends as well with the one by which they come to 32 MiB.
    public var limit: Int
    /// Whether tasks may be passed over unseen which the process of the store, a server's where it is at one, has found within the last
    /// hour to be kept by dead letters: a worker prunes each minute, and need not look at all of them each time.
    package var passesKept = false

    /// Makes a request for one step of up to `limit` messages.
    public init(queue: QueueName? = nil, retention: Retention? = nil, limit: Int = 500) {
        self.queue = queue
        self.retention = retention
        self.limit = limit
    }
}

/// What a step of pruning did.
public struct Pruned: Hashable, Sendable {
    /// Messages that were forgotten.
    public var messages: Int
    /// Whether another step would find more.
    public var hasMore: Bool

    /// Makes a report.
    public init(messages: Int = 0, hasMore: Bool = false) {
        self.messages = messages
        self.hasMore = hasMore
    }
}
