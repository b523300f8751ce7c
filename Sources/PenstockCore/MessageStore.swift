/// Where messages live. One store serves many processes; every rule here holds between them.
///
/// The protocol is narrow and takes batches, so that a store can make one transaction out of many calls. Each call happens as a whole or
/// not at all, and is visible to every other process when it returns, unless it says otherwise. A store decides nothing about a message's
/// life: ``Lifecycle`` does. One conformance suite, the product PenstockConformance, says all of this in tests, and every store runs it.
///
/// Everything throws ``PenstockError``, or `CancellationError` when the calling task is cancelled before the call
/// took effect. After an error the call has changed nothing, unless it says otherwise; after `outcomeUnknown` nobody knows
/// whether it took effect. Whatever changes something throws `storeMoved` once the queues move, and `readOnly` where it is only read.
public protocol MessageStore: Sendable {
    /// Accepts messages into the log and puts them in line, in their order. In a queue without room for all of them, what has expired
    /// is ended first.
    ///
    /// - Returns: a receipt for each message that was accepted, in order. There are fewer receipts than messages only when the queue
    ///   is full and its policy is `wait`: the rest was not touched, and can be offered again once ``changes`` rings for the queue.
    /// - Throws: `unknownQueue`; `queueDeleting`; `invalidInput` (nothing was enqueued); `queueFull` when the policy is
    ///   `fail` and not all of them fit (nothing was enqueued, and what had expired has ended).
    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt]

    /// Leases up to `limit` ready messages to the caller, by priority and then by sequence.
    ///
    /// Never gives a scheduled message early, one of a queue that is paused or being deleted, one that another holds, or one that has
    /// expired. First ends what has expired: of more than ``Limits/expiryCountMax`` messages, or than it has time for, those that did so first,
    /// and it gives none then; the next claim goes on. Then makes ready what is due, ``Limits/promotionCountMax`` messages at most, fewer that
    /// take long: those due longest. When more are due in a queue whose groups are in order, it gives only messages with numbers below all theirs.
    ///
    /// - Throws: `unknownQueue`; `invalidInput`.
    func claim(_ request: ClaimRequest) async throws -> Claim

    /// Carries out verdicts on leased messages. Each stands alone: one that lost its lease changes nothing, brings no message into
    /// line, and stops no other.
    ///
    /// - Throws: `invalidInput` when a verdict is one that cannot be; for tasks that are added and messages that are enqueued with a
    ///   verdict also `unknownQueue`, `queueDeleting` and, for policy `wait` as for `fail`, `queueFull`. Then none was carried out.
    func settle(_ settlements: [Settlement]) async throws -> [SettleResult]

    /// Carries out operations in their order: a worker hands in its verdicts and claims, a stream stores what has arrived and
    /// claims what is asked for. A store that can makes one transaction of them.
    ///
    /// An operation that fails changes nothing, undoes none of those before it, and those after it are not carried out.
    /// Neither are those after an enqueue that could not put all its messages in line.
    ///
    /// - Parameters:
    ///   - operations: what to do, in this order.
    ///   - flushed: when given, the answer need not wait for the disk, and this is called once when the operations are as durable
    ///     as they ask to be, or with what keeps that from being known. It is called before or after the answer, and not when
    ///     this throws.
    /// - Returns: what each operation gave, and why the one after these failed.
    /// - Throws: what the first operation throws; what kept the store from carrying out any of them. Then nothing has changed, but
    ///   for `outcomeUnknown`: whether it has is not known, and what was claimed is given back, or comes back when its lease ends.
    func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed

    /// Moves the ends of leases, and says how each stands. The end of one whose worker was asked to end is not moved beyond
    /// the time that it was given. What only asks changes nothing. A progress stays on record until the message leaves the lease.
    ///
    /// - Returns: how each lease stands. One that is lost is left alone.
    /// - Throws: `invalidInput` when no lease may be that long, or a progress cannot be.
    func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding]

    /// Puts the messages of dead workers and of ended leases back in line, the attempt counted.
    func reclaim() async throws -> Reclaimed

    /// Accepts messages into the log and no further: each is `done` as it is accepted, and nobody claims it. For logs that are read
    /// and not worked. The queue's capacity does not matter, as nothing waits. Its retention's count holds at once: what the log has beyond
    /// it goes with the call, as many messages as came at least; of large ones some 32 MiB and as many bytes as came, and the rest later.
    ///
    /// - Parameters:
    ///   - messages: what is appended, in this order.
    ///   - queue: the queue that the log is of.
    ///   - cursor: when the log has this cursor, nothing is appended.
    ///   - durability: what the messages must survive.
    /// - Returns: a receipt for each message, in order. Their sequence numbers rise.
    /// - Throws: `unknownQueue`; `queueDeleting`; `illegalTransition` when the log has `cursor`; `invalidInput`, also when
    ///   a message has a due time, an expiry or a unique key, which mean nothing here. After each of these nothing was appended.
    func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt]

    /// Reads a page of a queue's log: its messages in the order of acceptance, whatever became of them, all of one moment. Changes nothing.
    ///
    /// - Throws: `unknownQueue`; `invalidInput`.
    func log(_ query: LogQuery) async throws -> LogPage

    /// Places, moves or removes a cursor of a queue's log. Pruning counts for each cursor the messages that it forgets ahead of it.
    ///
    /// - Returns: the cursor as it is then, or as it was before it was removed; `nil` when there was none to remove.
    /// - Throws: `unknownQueue`; `unknownCursor` when there is none to advance; `invalidInput`, also when the place is
    ///   one that the log has not come to yet, or there is no room (``Limits/cursorCountMax``, ``Limits/cursorNotesBytesMax``).
    @discardableResult
    func moveCursor(_ cursor: CursorName, of queue: QueueName, _ move: CursorMove) async throws -> CursorRecord?

    /// Reads messages. Changes nothing. What it looks at is bounded, however many messages there are.
    ///
    /// - Returns: the messages, in the order of sequence, and where to go on. Fewer than the query's limit when there are no more,
    ///   when they carry more than ``Limits/logPageBytesMax`` bytes (``MessageQuery/limit``), or when as many as may be were looked
    ///   at (``MessageQuery/lookMax``, ``Limits/lookBytesMax``).
    /// - Throws: `unknownQueue` when the query names a queue that does not exist; `invalidInput`.
    func messages(_ query: MessageQuery) async throws -> MessagePage

    /// Puts dead letters into groups by their errors, from the newest in the log on. Changes nothing.
    ///
    /// - Throws: `unknownQueue` when the query names a queue that does not exist; `invalidInput`.
    func deadGroups(_ query: DeadGroupQuery) async throws -> DeadGroupPage

    /// Says why a message is where it is, and what it waits for. Changes nothing, and takes no lock that a writer waits for. What it
    /// looks at is bounded, however many messages wait.
    ///
    /// - Throws: `unknownMessage`.
    func waitReason(of sequence: SequenceNumber) async throws -> WaitReason

    /// Counts what the store holds, of one queue or of all. Of all, what was said at cursors by which logs are read is left out. Changes nothing.
    ///
    /// - Throws: `unknownQueue` when `queue` is given and does not exist.
    func status(of queue: QueueName?) async throws -> StoreStatus

    /// Says whether the queues move to another store, as ``status(of:)`` says it, and counts nothing. Changes nothing.
    ///
    /// - Returns: `nil`: they stay.
    func storeMove() async throws -> StoreMove?

    /// Which store this is: given by chance the first time that it is asked for, and kept. One that was restored from a backup is
    /// another store; a file that another program has copied is not.
    ///
    /// - Returns: `nil`: it was given none, and is only read.
    func storeID() async throws -> StoreID?

    /// Makes, changes or removes a queue.
    ///
    /// What a change of groups means for messages in line is carried out in steps. When the process dies between two of them,
    /// claims go on with it.
    ///
    /// - Throws: `unknownQueue` unless the change is `create`, and then `queueExists`; `queueDeleting` unless it is `delete`, and then
    ///   `illegalTransition` when messages are in its way; `policyChanged` when the policy is not the one to be replaced;
    ///   `unknownLimit` when there is none of that name; `invalidInput` when a number is out of range, or the queue has no groups.
    func configure(_ queue: QueueName, _ change: QueueChange) async throws

    /// Makes a limit on leased messages that queues share by naming it, changes its count, or removes it. A lower one takes nothing
    /// from workers: nothing more is claimed until so many have ended.
    ///
    /// - Parameters:
    ///   - name: the limit's name.
    ///   - count: how many messages of all those queues may be leased at the same time; `nil` removes the limit.
    /// - Throws: `unknownLimit` when there is none to remove; `illegalTransition` when queues share the one to remove; `invalidInput`.
    func setLimit(_ name: LimitName, to count: Int?) async throws

    /// When the first message of a queue that waits expires; `nil` when none does. A producer that waits for room looks again then. Changes nothing.
    func nextExpiry(of queue: QueueName) async throws -> Timestamp?

    /// Reads the limits that queues share, by name. Changes nothing.
    func limits() async throws -> [LimitRecord]

    /// Reads the groups of a queue that have permits or blocked messages, are paused, put off or weigh more than 1. Changes nothing.
    ///
    /// - Throws: `unknownQueue`; `invalidInput`.
    func groups(_ query: GroupQuery) async throws -> [GroupRecord]

    /// Moves messages by hand. A large selection is carried out in steps, so that others get their turn; each happens as a whole.
    /// Once a message has moved, the call goes on though its task is cancelled, and an error says how many were moved before.
    /// Those who work hear of it where a worker is asked to end, or loses a message (``Wakeups/notify(_:)``).
    ///
    /// - Returns: how many messages were moved, or have a worker that was asked to end and had not been before.
    /// - Throws: `unknownQueue`; `invalidInput`; `selectionChanged` when more match than were expected. Of messages selected by sequence
    ///   `unknownMessage`, or `illegalTransition` when one is in a state that does not know the command, or is to be redriven while another has
    ///   its unique key or the queue is being deleted; then nothing was moved. Messages selected by queue are passed over then.
    func apply(_ command: LineCommand, to selection: Selection) async throws -> Int

    /// Counts the messages that match a selection and are in a state that knows the command. Changes nothing. A large selection is
    /// counted in steps, each of one moment.
    ///
    /// - Returns: how many, up to the selection's limit. To carry out the command may pass over some: a dead letter stays one while
    ///   another message has its unique key.
    /// - Throws: `unknownQueue`; `invalidInput`.
    func count(_ selection: Selection, for command: LineCommand) async throws -> Int

    /// How many dead letters of a queue cannot be redriven for now, as other messages have their unique keys. Changes nothing.
    ///
    /// - Parameters:
    ///   - queue: the queue whose dead letters are counted.
    ///   - group: only of that group; `nil`: of all.
    /// - Throws: `unknownQueue`; `invalidInput`.
    func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int

    /// Has ``changes`` ring for the queue of a message when that ends, for those who follow its log, however and in whichever process
    /// it ends; unless it has ended. A message that has expired, and that no worker has, ends with this call.
    ///
    /// - Returns: where the message is.
    /// - Throws: `unknownMessage`.
    func expectEnd(of sequence: SequenceNumber) async throws -> MessageState

    /// Forgets ended messages beyond their queue's retention, and ends messages that have expired, also of paused queues: one small
    /// step, so that others get their turn.
    ///
    /// - Throws: `unknownQueue` when the request names a queue that does not exist; `invalidInput`.
    func prune(_ request: PruneRequest) async throws -> Pruned

    /// Makes, changes, runs or removes a schedule.
    ///
    /// - Returns: the schedule as it is then; `nil` when it was removed.
    /// - Throws: `unknownSchedule` unless the change is `put`; `scheduleExists`; `unknownQueue`; `queueDeleting`; `queueFull` when
    ///   it is run by hand and there is no room; `invalidInput`, also for a spec or a zone that cannot be; `notFound` when the
    ///   machine has no data of time zones and the schedule needs them.
    @discardableResult
    func schedule(_ name: ScheduleName, _ change: ScheduleChange) async throws -> ScheduleRecord?

    /// Reads schedules, by name: one with its last firings, or all without them. Changes nothing.
    ///
    /// - Throws: `unknownSchedule` when `name` is given and there is none.
    func schedules(_ name: ScheduleName?) async throws -> [ScheduleRecord]

    /// Reads a page of schedules, by name, without their firings. Changes nothing.
    ///
    /// - Throws: `invalidInput`.
    func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord]

    /// Enqueues what the schedules of all queues have to enqueue now. A claim does so for its own queue.
    ///
    /// Each firing happens once over all processes: with its message, and never again when the clock is set back. What is more
    /// than a minute late was missed, and ``Schedule/missed`` says what becomes of it. What is paused meanwhile is not missed.
    ///
    /// - Returns: when the next firing is due; `nil` when there is none.
    func fire() async throws -> Timestamp?

    /// Accepts the messages of a workflow, all of them or none. Those that depend on none are in line; the others wait for
    /// theirs, and take no room until then.
    ///
    /// A task begins after all that it depends on have ended as it needs. What follows from the end of one that many wait for is
    /// carried out in steps, by this call's process or, after its death, by the next claim or look for lost work of any other.
    ///
    /// - Returns: what was made; what there was, when there is a workflow of that name already.
    /// - Throws: `unknownQueue`, `queueDeleting`, `queueFull` when the tasks that depend on none do not fit, for policy `wait` as
    ///   for `fail`; `invalidInput`. Then nothing was enqueued.
    func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow

    /// Cancels every task of a workflow that has not ended, as ``LineCommand/requestCancel(within:)`` does: what runs is asked
    /// to end within ``Limits/cancelTime``. It goes in steps; when the process dies between two of them, others go on with it.
    ///
    /// - Returns: how many tasks had not ended.
    /// - Throws: `unknownWorkflow`.
    func cancel(_ workflow: WorkflowName) async throws -> Int

    /// Reads workflows, oldest first. Changes nothing.
    ///
    /// - Throws: `unknownWorkflow` when the query names one that does not exist; `invalidInput`.
    func workflows(_ query: WorkflowQuery) async throws -> [WorkflowRecord]

    /// Reads tasks of a workflow, in the order of the log. Changes nothing.
    ///
    /// - Throws: `unknownWorkflow`; `unknownTask` when the query names one that does not exist; `invalidInput`.
    func tasks(_ query: TaskQuery) async throws -> [TaskRecord]

    /// Records what a step of a handler gave, while its lease is held. The first record of a name stays.
    ///
    /// - Parameters:
    ///   - step: the step's name.
    ///   - result: what it gave.
    ///   - lease: the claim under which it was taken.
    ///   - duration: when given, the end of the lease is moved to that long from now.
    ///   - durability: what the record must survive: what a step gave may be used outside as soon as this returns.
    /// - Returns: what is on record.
    /// - Throws: `leaseLost`, and nothing is recorded then; `invalidInput`, also when the message has
    ///   ``Limits/stepCountMax`` steps already, or more than ``Limits/journalBytesMax`` bytes of what they gave.
    func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord

    /// Reads what a message has left behind on its way. Changes nothing.
    ///
    /// - Throws: `unknownMessage`.
    func journal(of sequence: SequenceNumber) async throws -> MessageJournal

    /// Tells a message, or all tasks of a workflow, of something that happened outside. Those that wait for it go on. The
    /// first event of a name stays.
    ///
    /// - Returns: whether it is the first of its name.
    /// - Throws: `unknownMessage`, `unknownWorkflow`; `illegalTransition` when the message, or every task, has ended, also as a dead
    ///   letter; `invalidInput`, also when there are ``Limits/eventCountMax`` events already.
    func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool

    /// What an event brought that a message sees: one of its own or, as it is a task, one of its workflow. Changes nothing.
    ///
    /// - Returns: `nil` when it has not come yet.
    /// - Throws: `unknownMessage`.
    func event(_ name: EventName, for sequence: SequenceNumber) async throws -> [UInt8]?

    /// Rings after every change that a waiter may be waiting for, this process's or another's.
    var changes: Wakeups { get }

    /// How long a waiter may rely on ``changes`` before it looks by itself, for a ring that was lost or what no Penstock wrote: a
    /// quarter of a second, unless the store sees to all of that.
    var lookInterval: Duration { get }

    /// How long this process has waited for the disk and for other processes; nothing, unless the store measures it.
    var timings: StoreTimings { get }

    /// Finishes what was begun, and lets go of the file. Leases that are still held go back in line, as if released.
    /// Every later call throws `closed`, but for this one, which does nothing then.
    func close() async throws
}
