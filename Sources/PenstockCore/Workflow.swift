/// A workflow's name, which no other workflow of the store has.
public struct WorkflowName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "workflow", bytesMax: Limits.workflowNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }

    /// The name of a workflow that was given none: after its first task, whose number is never used again.
    package init(firstTask sequence: SequenceNumber) {
        text = "workflow-\(sequence)"
    }

    /// Whether a workflow with that first task may have got this name as it was given none: ``init(firstTask:)``, with a number behind it
    /// where another one had that. Of a workflow that was copied since, the number in its name is the lower one that it had then.
    package func isMade(for sequence: SequenceNumber) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, parts[0] == "workflow", let first = Int64(parts[1]) else {
            return false
        }
        let areNumbers = parts.dropFirst().allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy(\.isDigit)
        }
        return areNumbers && first <= sequence.rawValue
    }
}

/// A task's name, which no other task of its workflow has.
public struct TaskName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "task", bytesMax: Limits.taskNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// What must have become of one task before another one begins.
public struct Dependency: Hashable, Sendable {
    /// What a task asks of the one that it waits for.
    public enum Need: Hashable, Sendable {
        /// It is done. `whenDead` says what follows when it ends otherwise: as a dead letter, dropped or cancelled.
        case done(whenDead: WhenDead = .cancel)
        /// It has ended, in whichever way.
        case ended
    }

    /// What becomes of a task when one that was to be done is a dead letter.
    public enum WhenDead: String, Sendable, Codable, CaseIterable {
        /// It is cancelled, with the reason `parentFailed`. Should the other one be redriven, it waits again.
        case cancel
        /// It waits until the other one is redriven, and is done. When that cannot happen any more, because the other one
        /// was discarded or cancelled, it is cancelled as well.
        case hold
    }

    /// The task that is waited for.
    public var task: TaskName
    /// What is asked of it.
    public var need: Need

    /// Makes a dependency on `task`.
    public init(on task: TaskName, need: Need = .done()) {
        self.task = task
        self.need = need
    }

    /// How the end of a task in `state`, or its being under way, leaves a dependency on it.
    package static func standing(of need: Need, whenTaskIs state: MessageState) -> DependencyState {
        switch (need, state) {
        case (_, .pending), (_, .scheduled), (_, .blocked), (_, .ready), (_, .leased): .open
        case (_, .done), (.ended, _): .met
        case (.done(whenDead: .hold), .dead): .open
        case (.done, .dead), (.done, .dropped), (.done, .cancelled): .failed
        }
    }
}

/// How a dependency stands.
public enum DependencyState: String, Sendable, Codable, CaseIterable {
    /// The task that is waited for has not ended, or is a dead letter and may be redriven.
    case open
    /// It has ended as it was to.
    case met
    /// It has ended otherwise, and the task that waited is cancelled.
    case failed
}

/// A message on its way into a queue as a part of a workflow.
public struct NewTask: Hashable, Sendable {
    /// Its name in the workflow.
    public var name: TaskName
    /// The queue that it goes into.
    public var queue: QueueName
    /// What is enqueued. A delay counts from the moment at which the task waits for no other one any more.
    public var message: NewMessage
    /// What it waits for. Without dependencies it is in line at once.
    public var dependencies: [Dependency]

    /// Makes a task.
    public init(_ name: TaskName, queue: QueueName, message: NewMessage, dependencies: [Dependency] = []) {
        self.name = name
        self.queue = queue
        self.message = message
        self.dependencies = dependencies
    }
}

/// Messages that wait for each other: chains, fan-out, fan-in, or any graph without a circle.
///
/// A task begins when all that it depends on have ended as it needs, and has a worker to itself from then on, like any message.
public struct NewWorkflow: Hashable, Sendable {
    /// Its name; `nil`: one that is made of its first task's sequence number. A workflow with a name is started once: as long as
    /// the store keeps it, another start of that name only says what the first one has made.
    public var name: WorkflowName?
    /// Its tasks. One that depends on another comes after it, so that there is no circle.
    public var tasks: [NewTask]

    /// Makes a workflow.
    public init(_ name: WorkflowName? = nil, tasks: [NewTask]) {
        self.name = name
        self.tasks = tasks
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a task cannot be, or depends on none that comes before it.
    public func validate(now: Timestamp) throws(PenstockError) {
        try require(!tasks.isEmpty, "A workflow has at least one task.")
        try NewTask.validate(tasks, now: now)
    }
}

extension NewTask {
    /// Throws ``PenstockError`` with code `invalidInput` when a task cannot be, or depends on none that comes before it.
    static func validate(_ tasks: [NewTask], now: Timestamp) throws(PenstockError) {
        try require(
            tasks.count <= Limits.taskCountMax,
            "A workflow has at most \(Limits.taskCountMax) tasks (taskCountMax); this one has \(tasks.count).")
        var names: Set<TaskName> = []
        var (bytes, dependencyCount) = (0, 0)
        for task in tasks {
            try task.message.validate(now: now)
            try require(
                task.message.uniqueKey == nil,
                "The task '\(task.name)' has a unique key; in a workflow it is the workflow's name that is unique.")
            var parents: Set<TaskName> = []
            for dependency in task.dependencies {
                try require(
                    names.contains(dependency.task),
                    "The task '\(task.name)' waits for '\(dependency.task)', and no task of that name comes before it.")
                // A set of one is what most would make.
                try require(
                    task.dependencies.count == 1 || parents.insert(dependency.task).inserted,
                    "The task '\(task.name)' waits twice for '\(dependency.task)'.")
            }
            try require(names.insert(task.name).inserted, "Two tasks are called '\(task.name)'.")
            bytes += task.message.payload.count
            dependencyCount += task.dependencies.count
        }
        try require(
            bytes <= Limits.batchBytesMax,
            "A workflow's payloads have at most \(Limits.batchBytesMax) bytes (batchBytesMax); these have \(bytes).")
        try require(
            dependencyCount <= Limits.dependencyCountMax,
            "A workflow has at most \(Limits.dependencyCountMax) dependencies (dependencyCountMax); this one has "
                + "\(dependencyCount).")
    }
}

/// Tasks that a task adds to its workflow as it is done.
public struct AddedTasks: Hashable, Sendable {
    /// The tasks. They wait for none but each other: each depends on some that come before it, or is in line at once.
    public var tasks: [NewTask]
    /// Whether what waits for the task that is done now waits for all of these as well, as for the task itself: they must be
    /// done.
    public var isAwaited: Bool

    /// Makes what is added.
    public init(_ tasks: [NewTask], isAwaited: Bool = true) {
        self.tasks = tasks
        self.isAwaited = isAwaited
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a task cannot be, or depends on none that comes before it.
    public func validate(now: Timestamp) throws(PenstockError) {
        try NewTask.validate(tasks, now: now)
    }
}

/// What a start of a workflow has made, or found.
public struct StartedWorkflow: Hashable, Sendable {
    /// The workflow's name.
    public var name: WorkflowName
    /// A receipt for each task, in their order. When there was a workflow of that name, these are of its tasks, in the order of
    /// the log, with ``Receipt/skipped``: nothing was enqueued.
    public var receipts: [Receipt]
    /// Whether it was made now.
    public var isNew: Bool

    /// Makes what a start gave.
    public init(name: WorkflowName, receipts: [Receipt], isNew: Bool) {
        self.name = name
        self.receipts = receipts
        self.isNew = isNew
    }
}

/// Which task of which workflow a message is.
public struct TaskPlace: Hashable, Sendable {
    /// The workflow.
    public var workflow: WorkflowName
    /// The task's name in it.
    public var task: TaskName

    /// Makes the place of a task.
    public init(workflow: WorkflowName, task: TaskName) {
        self.workflow = workflow
        self.task = task
    }
}
