/// Why a message is where it is: what it waits for, as the store's rows say it at one moment.
///
/// What no row says is not here: whether a worker listens to the queue just now, and which kinds of messages it takes up.
public struct WaitReason: Hashable, Sendable {
    /// The message, without its payload and its failed attempts. When it has ended, its state and reason say all there is.
    public var message: MessageRecord
    /// The worker that has it, while it is leased.
    public var holder: Holder?
    /// What it waits for; what is nearest to it comes first. A message whose due time is over stays scheduled until a claim takes
    /// it up, and what keeps workers from that, but for its group, comes behind the due time. Empty when it has ended or a worker has it, and
    /// when it is next in line and nothing keeps a worker from taking it.
    public var causes: [Cause]

    /// Messages that come before one are counted up to this.
    public static let countMax = 1000
    /// Other messages that one waits for are named up to this.
    public static let namedMax = 10

    /// Makes one.
    public init(message: MessageRecord, holder: Holder? = nil, causes: [Cause] = []) {
        self.message = message
        self.holder = holder
        self.causes = causes
    }

    /// A worker's process that has a message.
    public struct Holder: Hashable, Sendable {
        /// Its number in the store: ``WorkerRecord/id``.
        public var worker: Int64
        /// A name for people: host and process number. Empty when the process has no row any more.
        public var name: String
        /// Whether it lives; `nil`: that cannot be seen from here (``WorkerRecord/isAlive``). The messages of a dead one are put back
        /// within a second, wherever another process works.
        public var isAlive: Bool?

        /// Makes a holder.
        public init(worker: Int64, name: String, isAlive: Bool?) {
            self.worker = worker
            self.name = name
            self.isAlive = isAlive
        }
    }

    /// Another message that this one waits for.
    public struct Other: Hashable, Sendable {
        /// Its number.
        public var sequence: SequenceNumber
        /// Where it is.
        public var state: MessageState
        /// Which task it is, if it is one.
        public var task: TaskName?
        /// When it is due, while it is scheduled.
        public var due: Timestamp?
        /// The worker that has it, while it is leased.
        public var holder: Holder?

        /// Makes one.
        public init(
            sequence: SequenceNumber, state: MessageState, task: TaskName? = nil, due: Timestamp? = nil,
            holder: Holder? = nil
        ) {
            self.sequence = sequence
            self.state = state
            self.task = task
            self.due = due
            self.holder = holder
        }
    }

    /// Why a message is not due yet.
    public enum Delay: String, Hashable, Sendable, Codable, CaseIterable {
        /// It came with a delay or a due time, or waits for a worker that knows its kind.
        case asEnqueued
        /// Its last attempt has failed, and it is tried again then.
        case retry
        /// Its handler has stopped in the middle, and goes on then.
        case suspended
    }

    /// How many, as far as they were counted.
    public struct Count: Hashable, Sendable {
        /// So many.
        public var count: Int
        /// Whether there are more: only ``WaitReason/countMax`` were counted.
        public var isMore: Bool

        /// Makes a count of which no more than ``WaitReason/countMax`` are told.
        public init(_ found: Int) {
            count = min(found, WaitReason.countMax)
            isMore = found > WaitReason.countMax
        }
    }

    /// One thing that a message waits for.
    public enum Cause: Hashable, Sendable {
        /// Scheduled: it is due then, or since then.
        case due(Timestamp, Delay)
        /// Scheduled: its handler waits for an event of that name; until it is due, at most.
        case event(EventName)
        /// Pending: a task of its workflow has not ended as it needs.
        case task(Other)
        /// Pending: more tasks have not: those beyond ``WaitReason/namedMax``, and at a server those in queues that the caller may
        /// not read.
        case moreTasks
        /// Pending: all that it waits for has ended, and the store is about to tell it, step by step.
        case untold
        /// Blocked: somebody has paused its group.
        case groupPaused
        /// Blocked: a message of its group has a permit, and none is free; or one is, and by the rate of the group a worker is to take
        /// another message first.
        case permit(Other)
        /// Blocked: more messages than ``WaitReason/namedMax`` have permits of its group.
        case morePermits
        /// Blocked: so many messages of its group have the next permits, before it.
        case before(Count)
        /// Blocked: a worker has put its group off until then.
        case groupHeld(until: Timestamp)
        /// Blocked: its group may start nothing before then by its rate; `nil` when another clock said so, and nobody knows here.
        case groupRate(opens: Timestamp?)
        /// A change of its queue's policy, or a pause, is still being carried out, step by step, and nothing is claimed meanwhile.
        case policyChange
        /// Its queue is being deleted.
        case queueDeleting
        /// Somebody has paused its queue.
        case queuePaused
        /// Ready, or due: as many messages of its queue are leased as may be, or more.
        case limit(Int, leased: Int)
        /// Ready, or due: as many messages are leased as the queues that share this limit may have, or more.
        case sharedLimit(LimitName, Int, leased: Int)
        /// Ready, or due: its queue may start nothing before then; `nil` when another clock said so, and nobody knows here.
        case rate(opens: Timestamp?)
        /// Ready: so many messages of its queue are claimed before it.
        case ahead(Count)
        /// Ready, or due: no process that has had messages of this store is alive.
        case noWorker
    }
}
