public import PenstockCore
import Synchronization

/// A ``MessageStore`` whose readings are said in SQL, by the statements of this module.
///
/// What a reading asks is written once, here, for stores that write as well and for one that only reads.
public protocol SQLReading: MessageStore {
    /// What it reads.
    var snapshots: Snapshots { get }
}

/// The snapshots of a store that its readings see.
public struct Snapshots: Sendable {
    /// Runs a body in a snapshot that writers do not wait for, and says in the words of a ``PenstockError`` what failed.
    package typealias Read = @Sendable (_ body: @escaping @Sendable (Connection) throws -> Void) async throws -> Void

    let time: any TimeSource
    /// By which it is seen which workers live.
    let locks: any WorkerLocks
    private let runInOne: Read

    package init(time: any TimeSource, locks: any WorkerLocks, read: @escaping Read) {
        self.time = time
        self.locks = locks
        runInOne = read
    }

    /// Runs `body` in a snapshot that writers do not wait for.
    package func read<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        let answer = Answer<T>()
        try await runInOne { connection in
            let value = try body(connection)
            answer.value.withLock { $0 = value }
        }
        guard let value = answer.value.withLock({ $0 }) else {
            throw PenstockError(.storage, "The store gave no answer to a reading.")
        }
        return value
    }

    private final class Answer<T: Sendable>: Sendable {
        let value = Mutex<T?>(nil)
    }
}

/// Messages, and the logs that they are in.
extension SQLReading {
    /// Reads messages, as ``MessageStore/messages(_:)`` says, in one snapshot that writers do not wait for.
    public func messages(_ query: MessageQuery) async throws -> MessagePage {
        try query.validate()
        let time = snapshots.time
        return try await snapshots.read { connection in try MessageReader.messages(query, connection, time) }
    }

    /// Says what a message waits for, as ``MessageStore/waitReason(of:)`` says, in one snapshot that writers do not wait for.
    public func waitReason(of sequence: SequenceNumber) async throws -> WaitReason {
        let (time, locks) = (snapshots.time, snapshots.locks)
        return try await snapshots.read { connection in try WaitReader.reason(of: sequence, connection, time, locks) }
    }

    /// Puts dead letters into groups, as ``MessageStore/deadGroups(_:)`` says, in one snapshot that writers do not wait for.
    public func deadGroups(_ query: DeadGroupQuery) async throws -> DeadGroupPage {
        try query.validate()
        return try await snapshots.read { connection in try DeadGroupReader.groups(query, connection) }
    }

    /// Counts messages, as ``MessageStore/count(_:for:)`` says, in snapshots that writers do not wait for.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        var count = try SelectionCount(selection, for: command)
        while !count.isOver {
            count = try await snapshots.read { [count] connection in try count.counted(in: connection) }
        }
        return count.count
    }

    /// Counts dead letters that cannot be redriven, as ``MessageStore/deadWithoutKeyCount(of:group:)`` says.
    public func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int {
        if let group { try GroupKey.validate(group) }
        let now = snapshots.time.now
        return try await snapshots.read { connection in
            try UniqueKeys.deadWithoutKeyCount(of: queue, group: group, at: now, connection)
        }
    }

    /// Reads a page of a queue's log, as ``MessageStore/log(_:)`` says, in one snapshot that writers do not wait for.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try query.validate()
        return try await snapshots.read { connection in try LogReader.page(query, connection) }
    }
}

/// Groups, limits, schedules, and the store itself.
extension SQLReading {
    /// Counts what the store holds, as ``MessageStore/status(of:)`` says. Reads counters, and counts no rows but those of leases.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        let (time, locks) = (snapshots.time, snapshots.locks)
        return try await snapshots.read { connection in try QueueReader.status(of: queue, connection, time, locks) }
    }

    /// Reads groups, as ``MessageStore/groups(_:)`` says.
    public func groups(_ query: GroupQuery) async throws -> [GroupRecord] {
        try query.validate()
        let now = snapshots.time.now
        return try await snapshots.read { connection in try GroupReader.groups(query, at: now, connection) }
    }

    /// Reads the limits that queues share, as ``MessageStore/limits()`` says.
    public func limits() async throws -> [LimitRecord] {
        try await snapshots.read { connection in try GroupReader.limits(connection) }
    }

    /// Reads schedules, as ``MessageStore/schedules(_:)`` says, in one snapshot that writers do not wait for.
    public func schedules(_ name: ScheduleName?) async throws -> [ScheduleRecord] {
        try await snapshots.read { connection in try Scheduling.records(name, connection) }
    }

    /// Reads a page of schedules, as ``MessageStore/schedules(page:)`` says, in one snapshot that writers do not wait for.
    public func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        try query.validate()
        return try await snapshots.read { connection in try Scheduling.records(page: query, connection) }
    }

    /// When the first message of a queue expires, as ``MessageStore/nextExpiry(of:)`` says.
    public func nextExpiry(of queue: QueueName) async throws -> Timestamp? {
        try await snapshots.read { connection in try ExpiryRows.first(of: queue, connection) }
    }

    /// Says whether the queues move, as ``MessageStore/storeMove()`` says. Reads one row.
    public func storeMove() async throws -> StoreMove? {
        try await snapshots.read { connection in try Departure.read(connection) }
    }

    /// What a copy of the store would bring along.
    package func copyForecast(withLog: Bool) async throws -> [CopyReport.Queue] {
        try await snapshots.read { connection in try CopyCount.ofSource(withLog: withLog, connection) }.report
    }

    /// Throws `queueExists` when a copy into `target` would be refused, as that has something of the same name.
    package func refuseCopy(into target: some SQLReading, _ copy: StoreCopy) async throws {
        let (names, id, moveID) = try await snapshots.read { connection in
            (try CopiedNames(connection), try StoreIdentity.read(connection), try Leaving.current(connection))
        }
        try await target.snapshots.read { connection in
            if let id { try Arriving.refuseOthers(copy, from: id, besides: moveID, connection) }
            try names.refuseClashes(copy.target, besidesMovesOf: id, connection)
        }
    }
}

/// Workflows, and what their tasks leave behind.
extension SQLReading {
    /// Reads workflows, as ``MessageStore/workflows(_:)`` says, in one snapshot that writers do not wait for.
    public func workflows(_ query: WorkflowQuery) async throws -> [WorkflowRecord] {
        try query.validate()
        return try await snapshots.read { connection in try WorkflowReading.workflows(query, connection) }
    }

    /// Reads tasks of a workflow, as ``MessageStore/tasks(_:)`` says, in one snapshot that writers do not wait for.
    public func tasks(_ query: TaskQuery) async throws -> [TaskRecord] {
        try query.validate()
        return try await snapshots.read { connection in try WorkflowReading.tasks(query, connection) }
    }

    /// Reads what a message has left behind, as ``MessageStore/journal(of:)`` says, in one snapshot that writers do not wait for.
    public func journal(of sequence: SequenceNumber) async throws -> MessageJournal {
        try await snapshots.read { connection in try Journals.journal(of: sequence, connection) }
    }

    /// What an event brought, as ``MessageStore/event(_:for:)`` says, in one snapshot that writers do not wait for.
    public func event(_ name: EventName, for sequence: SequenceNumber) async throws -> [UInt8]? {
        try await snapshots.read { connection in try Events.payload(name, for: sequence, connection) }
    }
}
