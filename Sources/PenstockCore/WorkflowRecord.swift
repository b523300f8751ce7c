/// Where a workflow is.
public enum WorkflowState: String, Sendable, Codable, CaseIterable {
    /// A task waits for a worker or for its time, or is worked.
    case running
    /// None does, and tasks wait for dead letters: to be redriven, or discarded.
    case held
    /// Every task is done.
    case done
    /// Every task has ended, and not all are done.
    case failed
    /// Somebody cancelled it, and every task has ended.
    case cancelled

    /// Going by how many tasks are in each state.
    package init(_ counts: [MessageState: Int], isCancelled: Bool) {
        func has(_ states: MessageState...) -> Bool { states.contains { counts[$0, default: 0] > 0 } }
        if has(.scheduled, .blocked, .ready, .leased) {
            // Also of a workflow that was cancelled, and of which a dead letter was put back in line.
            self = .running
        } else if has(.pending) {
            self = .held
        } else if isCancelled {
            self = .cancelled
        } else {
            self = has(.dead, .dropped, .cancelled) ? .failed : .done
        }
    }
}

/// Which workflows to read.
public struct WorkflowQuery: Sendable {
    /// Only this one.
    public var name: WorkflowName?
    /// Only those that come after the one with this ``WorkflowRecord/id``: the cursor to page with.
    public var after: Int64?
    /// Only those that come before the one with this ``WorkflowRecord/id``: the cursor to page back with, from
    /// ``MessageQuery/End/last``.
    public var preceding: Int64?
    /// Which end to take `limit` workflows from. They are given in the order in which they were started either way.
    public var end: MessageQuery.End
    /// How many at most, up to ``Limits/rowsMax``.
    public var limit: Int

    /// Makes a query: every workflow, oldest first, a hundred at a time.
    public init(
        name: WorkflowName? = nil, after: Int64? = nil, preceding: Int64? = nil, end: MessageQuery.End = .first,
        limit: Int = 100
    ) {
        self.name = name
        self.after = after
        self.preceding = preceding
        self.end = end
        self.limit = limit
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the limit is out of its range.
    public func validate() throws(PenstockError) {
        try Limits.validate(limit, "workflows")
    }
}

/// A workflow as the store has it.
public struct WorkflowRecord: Hashable, Sendable {
    /// Its number in the store; later ones have higher ones.
    public var id: Int64
    /// Its name.
    public var name: WorkflowName
    /// When it was started.
    public var startedAt: Timestamp
    /// When somebody cancelled it.
    public var cancelledAt: Timestamp?
    /// How many of its tasks are in each state.
    public var counts: [MessageState: Int]

    /// Where it is.
    public var state: WorkflowState { WorkflowState(counts, isCancelled: cancelledAt != nil) }

    /// Makes a record.
    public init(
        id: Int64, name: WorkflowName, startedAt: Timestamp, cancelledAt: Timestamp? = nil,
        counts: [MessageState: Int]
    ) {
        self.id = id
        self.name = name
        self.startedAt = startedAt
        self.cancelledAt = cancelledAt
        self.counts = counts
    }
}

/// Which tasks of a workflow to read.
public struct TaskQuery: Sendable {
    /// The workflow.
    public var workflow: WorkflowName
    /// Only this one.
    public var name: TaskName?
    /// Only tasks after this message: the cursor to page with.
    public var after: SequenceNumber?
    /// How many at most, up to ``Limits/rowsMax``. An answer is also shorter when its results would have more than
    /// ``Limits/logPageBytesMax`` bytes: ask again after its last task, until the answer is empty.
    public var limit: Int
    /// Whether the records carry results.
    public var withResult: Bool

    /// Makes a query: every task, in the order of the log, a thousand at a time.
    public init(
        _ workflow: WorkflowName, name: TaskName? = nil, after: SequenceNumber? = nil, limit: Int = 1000,
        withResult: Bool = false
    ) {
        self.workflow = workflow
        self.name = name
        self.after = after
        self.limit = limit
        self.withResult = withResult
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the limit is out of its range.
    public func validate() throws(PenstockError) {
        try Limits.validate(limit, "tasks")
    }
}

/// A task as the store has it.
public struct TaskRecord: Hashable, Sendable {
    /// Its name in the workflow.
    public var name: TaskName
    /// Its message.
    public var sequence: SequenceNumber
    /// The queue of its message.
    public var queue: QueueName
    /// Where its message is in its life.
    public var state: MessageState
    /// Why, where the state alone does not say.
    public var reason: StateReason?
    /// What it waits for or has waited for, in the order of the log.
    public var dependencies: [DependencyRecord]
    /// What it gave, when the query asked for it and there is something.
    public var result: [UInt8]?

    /// Makes a record.
    public init(
        name: TaskName, sequence: SequenceNumber, queue: QueueName, state: MessageState, reason: StateReason? = nil,
        dependencies: [DependencyRecord] = [], result: [UInt8]? = nil
    ) {
        self.name = name
        self.sequence = sequence
        self.queue = queue
        self.state = state
        self.reason = reason
        self.dependencies = dependencies
        self.result = result
    }
}

/// A dependency as the store has it.
public struct DependencyRecord: Hashable, Sendable {
    /// What is waited for.
    public var dependency: Dependency
    /// How it stands.
    public var state: DependencyState

    /// Makes a record.
    public init(_ dependency: Dependency, state: DependencyState) {
        self.dependency = dependency
        self.state = state
    }
}
