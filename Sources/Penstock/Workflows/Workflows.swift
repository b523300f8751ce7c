public import PenstockCore

/// Workflows that were started: what people see and do.
extension PenstockStore {
    /// Reads a page of workflows, oldest first.
    ///
    /// - Throws: `PenstockError` with code `unknownWorkflow` when the query names one that does not exist; `invalidInput`.
    public func workflows(_ query: WorkflowQuery = WorkflowQuery()) async throws -> [WorkflowRecord] {
        try await storage.workflows(query)
    }

    /// A workflow, with how many of its tasks are in each state.
    ///
    /// - Throws: `PenstockError` with code `unknownWorkflow`.
    public func workflow(_ name: String) async throws -> WorkflowRecord {
        let name = try WorkflowName(name)
        guard let record = try await storage.workflows(WorkflowQuery(name: name, limit: 1)).first else {
            throw PenstockError.unknown(name)
        }
        return record
    }

    /// All tasks of a workflow, in the order in which they were added, without their results.
    ///
    /// - Throws: `PenstockError` with code `unknownWorkflow`.
    public func tasks(of workflow: WorkflowName) async throws -> [TaskRecord] {
        var tasks: [TaskRecord] = []
        var query = TaskQuery(workflow)
        while case let page = try await storage.tasks(query), let last = page.last {
            tasks += page
            query.after = last.sequence
        }
        return tasks
    }

    /// All tasks of a workflow, in the order in which they were added, without their results.
    ///
    /// - Throws: `PenstockError` with code `unknownWorkflow`.
    public func tasks(of workflow: String) async throws -> [TaskRecord] {
        try await tasks(of: WorkflowName(workflow))
    }

    /// Cancels every task of a workflow that waits, and asks the workers that have the others to end, as
    /// ``cancel(_:within:)`` does. What was cancelled stays so, also when a task that ran is done all the same.
    ///
    /// - Returns: how many tasks that had not ended.
    /// - Throws: `PenstockError` with code `unknownWorkflow`.
    @discardableResult
    public func cancelWorkflow(_ name: String) async throws -> Int {
        try await storage.cancel(WorkflowName(name))
    }

    // MARK: Results

    /// What a task of a workflow gave as it was done; `nil` when it gave nothing, or is not done.
    ///
    /// - Throws: `PenstockError` with code `unknownWorkflow`, `unknownTask`, or `undecodable` when what it gave is no `Value`.
    public func result<Value: Decodable>(
        of task: String, in workflow: String, as type: Value.Type
    ) async throws -> Value? {
        try await storage.result(of: TaskName(task), in: WorkflowName(workflow), as: type)
    }

    /// What a message has left behind: its steps and its result, and which task it is.
    ///
    /// - Throws: `PenstockError` with code `unknownMessage`.
    public func journal(of sequence: SequenceNumber) async throws -> MessageJournal {
        try await storage.journal(of: sequence)
    }

    // MARK: Events

    /// Tells a message, or all tasks of a workflow, of something that happened outside. Handlers that wait for it go on; one that
    /// comes to wait for it later has it at once. The first event of a name stays.
    ///
    /// ```swift
    /// try await store.emit("approved", Approval(by: "Grace"), to: .workflow(started.name))
    /// ```
    ///
    /// - Parameters:
    ///   - name: the event's name, for which handlers wait.
    ///   - value: what it brings: JSON, or bytes as they are.
    ///   - target: whom it is for.
    ///   - durability: what it must survive; `nil`: as the store was told.
    /// - Returns: whether it is the first of its name; a later one changes nothing.
    /// - Throws: `PenstockError` with code `unknownMessage` or `unknownWorkflow`; `illegalTransition` when the message, or
    ///   every task, has ended, also as a dead letter: redrive that first; `invalidInput`.
    @discardableResult
    public func emit(
        _ name: String, _ value: some Encodable, to target: EventTarget, durability: Durability? = nil
    ) async throws -> Bool {
        let event = NewEvent(try EventName(name), payload: try ResultCodec.encode(value))
        return try await storage.emit(event, to: target, durability: durability ?? handle.durability)
    }

    /// Tells a message, or all tasks of a workflow, of something that happened outside, and brings nothing.
    ///
    /// It does as ``emit(_:_:to:durability:)``.
    @discardableResult
    public func emit(_ name: String, to target: EventTarget, durability: Durability? = nil) async throws -> Bool {
        try await emit(name, [UInt8](), to: target, durability: durability)
    }
}

extension MessageStore {
    func record(of task: TaskName, in workflow: WorkflowName, withResult: Bool) async throws -> TaskRecord {
        let query = TaskQuery(workflow, name: task, limit: 1, withResult: withResult)
        guard let record = try await tasks(query).first else {
            throw PenstockError(.unknownTask, "The workflow '\(workflow)' has no task called '\(task)'.")
        }
        return record
    }

    func result<Value: Decodable>(
        of task: TaskName, in workflow: WorkflowName, as type: Value.Type
    ) async throws -> Value? {
        try await record(of: task, in: workflow, withResult: true).result.map {
            try ResultCodec.decode($0, as: type, of: "the task '\(task)' of the workflow '\(workflow)'")
        }
    }
}
