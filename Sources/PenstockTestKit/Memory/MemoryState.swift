import PenstockCore

/// Everything that a store holds: the log, the queues with their lines, and the workers.
///
/// A plain value. No lock, no task and no clock is inside: every operation is handed the moment it happens at.
/// Nothing is counted ahead; depths are counted when somebody asks, and so cannot be wrong.
struct MemoryState: Sendable {
    /// Every message that retention has left, whatever its state.
    var messages: [SequenceNumber: MemoryMessage] = [:]
    /// Their sequence numbers, in order.
    var log = Ordered<SequenceNumber>()
    /// The last number given. It only grows, so none is used twice.
    var lastSequence = SequenceNumber(0)

    /// Which store it is, once somebody has asked.
    var id: StoreID?

    var queues: [QueueName: MemoryQueue] = [:]
    var workflows: [WorkflowName: MemoryWorkflow] = [:]
    var events: [EventTarget: [EventName: [UInt8]]] = [:]
    /// Tasks that have ended, come back or gone, and whose children do not know it yet.
    var untold: [SequenceNumber] = []
    /// Whether they are told at once.
    var isTelling = true
    var schedules: [ScheduleName: MemorySchedule] = [:]
    /// The limits that queues share.
    var limits: [LimitName: Int] = [:]
    var lastSchedule = 0

    /// The handles on the store, each of which stands for a process.
    var workers: [Int64: MemoryWorker] = [:]
    var lastWorker: Int64 = 0
    var lastWorkerRank = 0

    /// What to ring for, because of what the operation under way has done.
    private var rung: [QueueName: Wakeups.Change] = [:]
    /// Queues whose workers have to look for what is asked of them.
    private var noticed: Set<QueueName> = []
    /// The messages that the operation under way has put in line.
    private var offered: Set<SequenceNumber> = []
    private var lastSequenceBefore = SequenceNumber(0)

    func queue(_ name: QueueName) throws(PenstockError) -> MemoryQueue {
        guard let queue = queues[name] else {
            throw PenstockError.unknown(name)
        }
        return queue
    }

    /// The queue, unless its deletion has begun.
    func openQueue(_ name: QueueName) throws(PenstockError) -> MemoryQueue {
        let queue = try queue(name)
        guard !queue.isDeleting else {
            throw PenstockError(.queueDeleting, "The queue '\(name)' is being deleted; wait until it is gone.")
        }
        return queue
    }

    /// Rings for `queue` when the operation has ended.
    mutating func ring(_ queue: QueueName, for change: Wakeups.Change = .work) {
        rung[queue] = max(rung[queue] ?? .log, change)
    }

    /// Has the workers of `queue` look for what is asked of them when the operation has ended.
    mutating func notify(_ queue: QueueName) {
        noticed.insert(queue)
    }

    /// The queues whose workers have to look, as an operation has ended.
    mutating func takeNoticed() -> Set<QueueName> {
        defer { noticed = [] }
        return noticed
    }

    /// Workers wait for a message to be ready or to have a due time, producers for room. What came in this operation and is
    /// claimed already was never in anybody's way.
    mutating func ringIfAwaited(
        _ sequence: SequenceNumber, _ queue: QueueName, from left: MessageState?, to arrived: MessageState
    ) {
        if arrived.isWaiting {
            offered.insert(sequence)
        } else if left?.isWaiting == true, queues[queue]?.policy.capacity != nil, sequence <= lastSequenceBefore {
            ring(queue, for: .room)
        }
    }

    /// What to ring for, as an operation has ended.
    mutating func takeRung() -> [QueueName: Wakeups.Change] {
        for message in offered.compactMap({ messages[$0] }) {
            let isForWorkers = message.state == .ready || message.state == .scheduled || message.expires != nil
            ring(message.queue, for: isForWorkers ? .work : .log)
        }
        defer { (rung, offered, lastSequenceBefore) = ([:], [], lastSequence) }
        return rung
    }

    /// The messages of `queue`, or of all of them, in the order of the log.
    func messages(of queue: QueueName?) -> [MemoryMessage] {
        // A plain loop: lazy sequences take several times as long where nothing is optimized, as in most tests.
        var found: [MemoryMessage] = []
        for sequence in log.elements {
            if let message = messages[sequence], queue == nil || message.queue == queue { found.append(message) }
        }
        return found
    }
}

/// When an operation happens, and what chance has in store for it.
struct Moment {
    var now: Timestamp
    var boot: BootTime
    var random: any RandomSource

    /// By how much the boot clock is behind the wall clock.
    var wallOffset: Int64 { boot.microseconds - now.microseconds }
}

/// One message: what was accepted, which never changes, and what has become of it.
struct MemoryMessage: Sendable {
    let sequence: SequenceNumber
    let queue: QueueName
    let new: NewMessage
    let enqueuedAt: Timestamp

    var state: MessageState
    var reason: StateReason?
    var due: Timestamp?
    /// Since when it is ready, when it is not so since its acceptance.
    var readySince: Timestamp?
    /// Until when it may start. Forgotten when it has ended and comes back.
    var expires: Timestamp?
    var attempt = 0
    var forgiven = 0
    var finishedAt: Timestamp?
    /// Whether it is blocked and goes first of its group, which is in order: it had the permit, and its work has begun.
    var goesFirst = false
    /// Its turn, in a queue that is or was shared fairly.
    var turn: Int64 = 0
    /// By what worker it is held, while it is leased.
    var hold: Hold?
    var attempts: [AttemptRecord] = []
    var task: TaskPlace?
    /// What it waits for or has waited for, in the order of the log.
    var dependencies: [MemoryDependency] = []
    /// What its handler has left behind.
    var steps: [StepRecord] = []
    /// The event that it waits for, while it is scheduled.
    var awaited: EventName?
    /// Whether it is scheduled since its handler has stopped to wait.
    var isSuspended = false
    /// What it gave when it was done.
    var result: [UInt8]?
    /// Whether somebody waits for its end.
    var isEndAwaited = false

    struct Hold: Sendable {
        var token: LeaseToken
        var worker: Int64
        var claimedAt: Timestamp
        /// When the lease ends, on the boot clock.
        var ends: BootTime
        /// Set when its worker is asked to end: since when, and when it must have.
        var request: (madeAt: Timestamp, until: BootTime)?

        /// How far its worker says it has come.
        var progress: ProgressRecord?

        /// The end that an extension to `wanted` gives it.
        func bounded(_ wanted: BootTime) -> BootTime {
            guard let until = request?.until, until.microseconds < wanted.microseconds else { return wanted }
            return until
        }
    }

    /// Its group's key, as stores compare it.
    var group: KeyBytes? { new.group.map(KeyBytes.init) }

    /// Whether an attempt counts, or a step of its handler is on record.
    var isBegun: Bool { attempt > forgiven || !steps.isEmpty }

    /// Whether it waits for other messages, or was cancelled as it waited in vain: a redrive of those brings it back.
    var waitsForOthers: Bool { state == .pending || state == .cancelled && reason == .parentFailed }

    /// Whether the lease's time is over. After a reboot every lease's is.
    func leaseHasEnded(at boot: BootTime) -> Bool {
        guard let hold else { return false }
        return hold.ends.bootID != boot.bootID || hold.ends.microseconds <= boot.microseconds
    }

    func situation(_ policy: RetryPolicy) -> Lifecycle.Situation {
        Lifecycle.Situation(
            state: state, attempt: attempt, forgiven: forgiven, attemptsMax: new.attemptsMax ?? policy.attemptsMax,
            isToBeCancelled: hold?.request != nil)
    }
}

/// A queue: its policy, its line, and how often each thing has happened.
struct MemoryQueue: Sendable {
    var policy: QueuePolicy
    var isPaused = false
    /// Whether its deletion has begun.
    var isDeleting = false
    var line = MemoryLine()
    var totals = Totals()
    var latency = QueueLatency()
    /// Groups of which no message is claimed for now.
    var pausedGroups: Set<KeyBytes> = []
    /// What its rates have let start.
    var rates = MemoryRates()
    /// The turns of its groups, once it is shared fairly.
    var fair: MemoryFair?
    /// Named places in its log.
    var cursors: [CursorName: CursorRecord] = [:]

    /// How many more messages may wait.
    var room: Int {
        guard let capacity = policy.capacity else { return .max }
        return max(0, capacity.count - line.waiting)
    }
}

/// A handle on the store: to the others, a process of its own.
struct MemoryWorker: Sendable {
    var name: String
    var processID: Int32?
    var startedAt: Timestamp
    /// Its lock, which the kernel would free at its death.
    var isAlive = true
    /// Whether it has claimed anything, and so is a worker at all.
    var hasClaimed = false
    /// Which worker it is, in the order of their first messages.
    var rank = 0
    /// What is known of one that claims through another handle.
    var remote: MemoryRemoteWorker?
}
