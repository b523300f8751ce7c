public import PenstockCore

/// What a start of a workflow has made, or found.
public struct StartReceipt: Sendable {
    /// The workflow's name.
    public let name: WorkflowName
    /// Whether it was made now. Otherwise there was one of that name, and nothing was enqueued.
    public let isNew: Bool
    /// A receipt for each task, by name. Of a workflow that was there, they are of its tasks and say
    /// `skipped`, for the first 10,000 of these.
    public let receipts: [TaskName: Receipt]

    /// The receipt of a task; `nil` when the workflow that was there has no task of that name.
    public subscript(_ task: TaskReference) -> Receipt? { receipts[task.name] }
}

extension PenstockStore {
    /// Starts a workflow: all its tasks are in the store, or none.
    ///
    /// Tasks that wait for none are in line. The others are `pending`, and take no room in their queues, until what they wait for
    /// has ended as it needs; then they are in line too. A workflow of a name that is there already is not started again.
    ///
    /// - Parameters:
    ///   - workflow: what to start.
    ///   - durability: what it must survive; `nil`: as the store was told.
    ///   - timeout: how long to wait for room in queues whose policy is `wait`; `nil`: for ever.
    /// - Throws: `PenstockError` with code `unknownQueue`, `queueDeleting`, `invalidInput`; `queueFull` when there is no room for the
    ///   tasks that wait for none, in a queue whose policy is `fail`, or that could never hold as many; `timedOut`. Nothing
    ///   was enqueued then. After `outcomeUnknown` nobody knows: of a workflow with a name the call can be made again.
    @discardableResult
    public func start(
        _ workflow: Workflow, durability: Durability? = nil, timeout: Duration? = nil
    ) async throws -> StartReceipt {
        try await start(workflow.new(), durability: durability, timeout: timeout)
    }

    /// Starts a workflow that was put together by hand.
    ///
    /// It does as `start` of a ``Workflow``.
    @discardableResult
    public func start(
        _ workflow: NewWorkflow, durability: Durability? = nil, timeout: Duration? = nil
    ) async throws -> StartReceipt {
        let durability = durability ?? handle.durability
        let started = try await RoomWait(handle, tasks: workflow.tasks).offer(timeout) { [storage] in
            try await storage.start(workflow, durability: durability)
        }
        guard started.isNew else { return StartReceipt(of: try await tasks(of: started.name), started) }
        return handle.made(workflow.tasks, started)
    }
}

extension StartReceipt {
    /// The receipts of a workflow that has just been made of `tasks`.
    package init(new tasks: [NewTask], _ started: StartedWorkflow) {
        self.init(
            name: started.name, isNew: true,
            receipts: Dictionary(zip(tasks.lazy.map(\.name), started.receipts)) { first, _ in first })
    }

    /// The receipts of a workflow that was there, by the names of its tasks.
    package init(of tasks: [TaskRecord], _ started: StartedWorkflow) {
        let names = Dictionary(tasks.map { ($0.sequence, $0.name) }) { first, _ in first }
        let receipts = started.receipts.compactMap { receipt in names[receipt.sequence].map { ($0, receipt) } }
        self.init(name: started.name, isNew: false, receipts: Dictionary(receipts) { first, _ in first })
    }
}

extension StoreHandle {
    /// Counts what a start has enqueued, and names its receipts.
    func made(_ tasks: [NewTask], _ started: StartedWorkflow) -> StartReceipt {
        var byQueue: [QueueName: (receipts: [Receipt], messages: [NewMessage])] = [:]
        for (task, receipt) in zip(tasks, started.receipts) {
            byQueue[task.queue, default: ([], [])].receipts.append(receipt)
            byQueue[task.queue, default: ([], [])].messages.append(task.message)
        }
        for (queue, made) in byQueue { metrics(of: queue).record(made.receipts, of: made.messages) }
        return StartReceipt(new: tasks, started)
    }
}
