public import PenstockCore

/// A ``/PenstockCore/MessageStore`` in memory: the reference model, and a store for the tests of an application.
///
/// It follows every rule of the protocol, and passes the same conformance suite as the store on SQLite. It is written
/// to be read: `MemoryState` and its extensions say, one subject a file, what each operation does. Nothing survives
/// the process, so a receipt's durability only repeats what was asked for.
///
/// Each handle stands for a process. ``crash()`` kills it; another handle's `reclaim()` then takes its messages back.
public final class InMemoryStore: MessageStore {
    /// Rings after every change that a waiter may be waiting for, whichever handle made it.
    public let changes: Wakeups
    let database: InMemoryDatabase
    let id: Int64
    private let afterStep: (@Sendable () async throws -> Void)?
    /// Messages that one step of a deletion removes at most.
    private static let stepMax = 1000

    /// Makes a store with a database of its own.
    ///
    /// - Parameters:
    ///   - time: the clocks by which messages are due and leases end.
    ///   - random: where lease tokens and the jitter of retries come from.
    public convenience init(time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom()) {
        let store = InMemoryDatabase(time: time, random: random).open()
        self.init(database: store.database, id: store.id, changes: store.changes, afterStep: nil)
    }

    init(
        database: InMemoryDatabase, id: Int64, changes: Wakeups, afterStep: (@Sendable () async throws -> Void)?
    ) {
        self.afterStep = afterStep
        self.database = database
        self.id = id
        self.changes = changes
    }

    /// Ends this handle as SIGKILL ends a process: nothing is given back, nothing is closed. Later calls throw
    /// `closed`.
    public func crash() {
        database.end(id, inGoodOrder: false)
    }

    /// Accepts messages into the log and puts them in line; see ``/PenstockCore/MessageStore``.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.enqueue(messages, to: queue, durability: durability, at: moment)
        }
    }

    /// Leases ready messages to this handle; see ``/PenstockCore/MessageStore``.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.claim(request, worker: id, at: moment)
        }
    }

    /// Carries out verdicts; see ``/PenstockCore/MessageStore``.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.settle(settlements, at: moment) }
    }

    /// Carries out operations, all of them as a whole; see ``/PenstockCore/MessageStore``.
    public func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        let performed = try database.act(as: id) { state, moment throws(PenstockError) in
            try state.perform(operations, worker: id, at: moment)
        }
        flushed?(nil)
        return performed
    }

    /// Moves the ends of leases; see ``/PenstockCore/MessageStore``.
    public func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.extend(extensions, at: moment) }
    }

    /// Has the end of a message rung for; see ``/PenstockCore/MessageStore``.
    public func expectEnd(of sequence: SequenceNumber) async throws -> MessageState {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.expectEnd(of: sequence, at: moment)
        }
    }

    /// Takes back what is lost; see ``/PenstockCore/MessageStore``.
    public func reclaim() async throws -> Reclaimed {
        try database.act(as: id) { state, moment throws(PenstockError) in state.reclaim(at: moment) }
    }

    /// Accepts messages into the log and no further; see ``/PenstockCore/MessageStore``.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.append(messages, to: queue, unless: cursor, durability: durability, at: moment)
        }
    }

    /// Reads a page of a queue's log; see ``/PenstockCore/MessageStore``.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.log(query) }
    }

    /// Places, moves or removes a cursor; see ``/PenstockCore/MessageStore``.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.moveCursor(cursor, of: queue, move, at: moment)
        }
    }

    /// Reads messages; see ``/PenstockCore/MessageStore``.
    public func messages(_ query: MessageQuery) async throws -> MessagePage {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.messages(query, at: moment) }
    }

    /// Puts dead letters into groups; see ``/PenstockCore/MessageStore``.
    public func deadGroups(_ query: DeadGroupQuery) async throws -> DeadGroupPage {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.deadGroups(query) }
    }

    /// Says what a message waits for; see ``/PenstockCore/MessageStore``.
    public func waitReason(of sequence: SequenceNumber) async throws -> WaitReason {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.waitReason(of: sequence, at: moment)
        }
    }

    /// Counts what the store holds; see ``/PenstockCore/MessageStore``.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.status(of: queue, at: moment) }
    }

    /// Makes, changes or removes a queue; see ``/PenstockCore/MessageStore``.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        if case .delete(let force) = change { return try await delete(queue, force: force) }
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.configure(queue, change, at: moment)
        }
    }

    /// Makes, changes or removes a limit that queues share; see ``/PenstockCore/MessageStore``.
    public func setLimit(_ name: LimitName, to count: Int?) async throws {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.setLimit(name, to: count) }
    }

    /// Reads the limits that queues share; see ``/PenstockCore/MessageStore``.
    public func limits() async throws -> [LimitRecord] {
        try database.act(as: id) { state, _ throws(PenstockError) in state.limitRecords() }
    }

    /// When the first message of a queue expires; see ``/PenstockCore/MessageStore``.
    public func nextExpiry(of queue: QueueName) async throws -> Timestamp? {
        try database.act(as: id) { state, _ throws(PenstockError) in
            state.queues[queue]?.line.expiring.elements.first?.due
        }
    }

    /// Counts dead letters that cannot be redriven; see ``/PenstockCore/MessageStore``.
    public func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.deadWithoutKeyCount(of: queue, group: group, at: moment.now)
        }
    }

    /// Reads groups; see ``/PenstockCore/MessageStore``.
    public func groups(_ query: GroupQuery) async throws -> [GroupRecord] {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.groups(query, at: moment.now) }
    }

    /// Moves messages by hand; see ``/PenstockCore/MessageStore``.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.apply(command, to: selection, at: moment)
        }
    }

    /// Counts the messages that match a selection; see ``/PenstockCore/MessageStore``.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.count(selection, for: command) }
    }

    /// Which store this is; see ``/PenstockCore/MessageStore``. All handles on one ``InMemoryDatabase`` have the same.
    public func storeID() async throws -> StoreID? {
        try database.act(as: id) { state, moment throws(PenstockError) in
            let id = state.id ?? StoreID(random: moment.random)
            state.id = id
            return id
        }
    }

    /// Deletes a queue in steps, as a store does that lets others have their turn.
    private func delete(_ queue: QueueName, force: Bool) async throws {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.beginDeletion(of: queue, force: force) }
        var isGone = false
        while !isGone {
            try await afterStep?()
            isGone = try database.act(as: id) { state, moment throws(PenstockError) in
                try state.deleteStep(of: queue, limit: Self.stepMax, at: moment)
            }
        }
    }

    /// Forgets ended messages; see ``/PenstockCore/MessageStore``.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.prune(request, at: moment) }
    }

    /// Makes, changes, runs or removes a schedule; see ``/PenstockCore/MessageStore``.
    @discardableResult
    public func schedule(_ name: ScheduleName, _ change: ScheduleChange) async throws -> ScheduleRecord? {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.schedule(name, change, at: moment) }
    }

    /// Reads schedules; see ``/PenstockCore/MessageStore``.
    public func schedules(_ name: ScheduleName?) async throws -> [ScheduleRecord] {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.schedules(name) }
    }

    /// Enqueues what schedules have to enqueue now; see ``/PenstockCore/MessageStore``.
    public func fire() async throws -> Timestamp? {
        try database.act(as: id) { state, moment throws(PenstockError) in state.fire(at: moment) }
    }

    /// Accepts the messages of a workflow; see ``/PenstockCore/MessageStore``.
    public func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.start(workflow, durability: durability, at: moment)
        }
    }

    /// Cancels what has not ended of a workflow; see ``/PenstockCore/MessageStore``.
    public func cancel(_ workflow: WorkflowName) async throws -> Int {
        try database.act(as: id) { state, moment throws(PenstockError) in try state.cancel(workflow, at: moment) }
    }

    /// Reads workflows; see ``/PenstockCore/MessageStore``.
    public func workflows(_ query: WorkflowQuery) async throws -> [WorkflowRecord] {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.workflows(query) }
    }

    /// Reads tasks of a workflow; see ``/PenstockCore/MessageStore``.
    public func tasks(_ query: TaskQuery) async throws -> [TaskRecord] {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.tasks(query) }
    }

    /// Records what a step gave; see ``/PenstockCore/MessageStore``.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.record(step, result: result, on: lease, extendingBy: duration, at: moment)
        }
    }

    /// Reads what a message has left behind; see ``/PenstockCore/MessageStore``.
    public func journal(of sequence: SequenceNumber) async throws -> MessageJournal {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.journal(of: sequence) }
    }

    /// Tells of an event; see ``/PenstockCore/MessageStore``.
    public func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.emit(event, to: target, at: moment)
        }
    }

    /// What an event brought; see ``/PenstockCore/MessageStore``.
    public func event(_ name: EventName, for sequence: SequenceNumber) async throws -> [UInt8]? {
        try database.act(as: id) { state, _ throws(PenstockError) in try state.event(name, for: sequence) }
    }

    /// Gives back what this handle holds, and ends it; see ``/PenstockCore/MessageStore``.
    public func close() async throws {
        database.end(id, inGoodOrder: true)
    }
}
