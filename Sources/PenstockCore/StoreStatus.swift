/// What a store holds, in numbers.
public struct StoreStatus: Sendable {
    /// The queues, by name.
    public var queues: [QueueStatus]
    /// The workers that hold leases or held them lately.
    public var workers: [WorkerRecord]
    /// The named places in the queues' logs, by queue and name. Their ``CursorRecord/note`` is told where one queue was asked for.
    public var cursors: [CursorRecord]
    /// That the queues move to another store, or have moved there; `nil`: they stay.
    public var move: StoreMove?

    /// Makes a status.
    public init(
        queues: [QueueStatus], workers: [WorkerRecord], cursors: [CursorRecord] = [], move: StoreMove? = nil
    ) {
        self.queues = queues
        self.workers = workers
        self.cursors = cursors
        self.move = move
    }

    /// Whether it could be seen of all workers whether they live: not at a standby.
    package var knowsWorkers: Bool { workers.allSatisfy { $0.isAlive != nil } }

    /// The queue of that name, for which alone the status was asked.
    ///
    /// - Throws: `unknownQueue`.
    package func queue(_ name: QueueName) throws(PenstockError) -> QueueStatus {
        guard let queue = queues.first else { throw .unknown(name) }
        return queue
    }
}

/// One queue, its policy and its numbers.
public struct QueueStatus: Hashable, Sendable {
    /// The queue's name.
    public var name: QueueName
    /// What it was told.
    public var policy: QueuePolicy
    /// Whether claims are refused for now. Messages are still accepted.
    public var isPaused: Bool
    /// Whether its deletion has begun: it takes no messages and gives none. After a crash in the middle of a deletion it
    /// stays so until the deletion is asked for again.
    public var isDeleting: Bool
    /// How many messages are in each state. Of ended ones, those that retention has left.
    public var depths: Depths
    /// How many times each thing has happened since the queue was made.
    public var totals: Totals
    /// Since when the message is ready that is so the longest; `nil` when none is. A message that was delayed, is tried again or came
    /// back counts from its due time or its return on, and not from its acceptance. One that is due counts although it is scheduled until
    /// a claim takes it up: where nobody works, this says so while ``depths`` has none that is ready.
    ///
    /// Where more than 1,000 messages of a priority that came back are in front of all others, it is that of one of these. Of messages
    /// that are ready since their acceptance the first in the log is taken for the oldest.
    public var oldestReady: Timestamp?
    /// When the oldest lease was claimed; `nil` when there is none.
    public var oldestLease: Timestamp?
    /// How long messages waited and were worked, counted over all processes and exact after every crash.
    public var latency: QueueLatency

    /// Makes a status.
    public init(
        name: QueueName, policy: QueuePolicy, isPaused: Bool, isDeleting: Bool = false, depths: Depths, totals: Totals,
        oldestReady: Timestamp? = nil, oldestLease: Timestamp? = nil, latency: QueueLatency = QueueLatency()
    ) {
        self.name = name
        self.policy = policy
        self.isPaused = isPaused
        self.isDeleting = isDeleting
        self.depths = depths
        self.totals = totals
        self.oldestReady = oldestReady
        self.oldestLease = oldestLease
        self.latency = latency
    }
}

/// How many messages are in each state now.
public struct Depths: Hashable, Sendable, Codable {
    /// Messages that wait for other messages.
    public var pending = 0
    /// Messages that wait for their due time.
    public var scheduled = 0
    /// Messages that wait for a permit of their group.
    public var blocked = 0
    /// Messages that wait for a worker.
    public var ready = 0
    /// Messages that workers hold.
    public var leased = 0
    /// Dead letters.
    public var dead = 0
    /// Messages that are done, dropped or cancelled and still in the log.
    public var kept = 0

    /// Counts one message in `state`.
    package mutating func count(_ state: MessageState) {
        switch state {
        case .pending: pending += 1
        case .scheduled: scheduled += 1
        case .blocked: blocked += 1
        case .ready: ready += 1
        case .leased: leased += 1
        case .dead: dead += 1
        case .done, .dropped, .cancelled: kept += 1
        }
    }

    /// What counts against a capacity.
    public var waiting: Int {
        // The numbers may come from a file that anybody has written.
        scheduled.addingClamped(blocked).addingClamped(ready)
    }

    /// Makes depths of zero.
    public init() {}
}

/// How many times each thing has happened. Nothing but deleting the queue makes these smaller.
public struct Totals: Hashable, Sendable, Codable {
    /// Messages accepted into the log, dropped arrivals included.
    public var enqueued = 0
    /// Messages that finished well.
    public var done = 0
    /// Times that a message became a dead letter.
    public var dead = 0
    /// Messages that an overflow policy discarded, or that had expired.
    public var dropped = 0
    /// Times that a message was cancelled, replaced or, as a dead letter, discarded.
    public var cancelled = 0
    /// Times that a worker's verdict was `retry`, and another attempt was left.
    public var retried = 0
    /// Times that a message was taken back from a dead worker or an ended lease.
    public var reclaimed = 0

    /// Makes totals of zero.
    public init() {}
}

/// A process that claims messages, or a worker that claims them through one (``ClaimRequest/remoteWorker``).
public struct WorkerRecord: Hashable, Sendable {
    /// Its number in the store.
    public var id: Int64
    /// A name for people: host and process number, or the name of the remote worker.
    public var name: String
    /// The number of its process; `nil`: it is a remote worker.
    public var processID: Int32?
    /// When its process opened the store, or the remote worker first claimed.
    public var startedAt: Timestamp
    /// Whether its process lives. A remote worker counts as alive while it holds a lease that has not ended, and for a minute
    /// after it has asked for messages, also where there were none. `nil`: it cannot be seen from here, as the store was opened at
    /// a standby of the server where the process has its connections.
    public var isAlive: Bool?
    /// How many messages it holds.
    public var leased: Int
    /// When the oldest of those was claimed.
    public var oldestClaim: Timestamp?

    /// Makes a record.
    public init(
        id: Int64,
        name: String,
        processID: Int32?,
        startedAt: Timestamp,
        isAlive: Bool?,
        leased: Int,
        oldestClaim: Timestamp?
    ) {
        self.id = id
        self.name = name
        self.processID = processID
        self.startedAt = startedAt
        self.isAlive = isAlive
        self.leased = leased
        self.oldestClaim = oldestClaim
    }
}
