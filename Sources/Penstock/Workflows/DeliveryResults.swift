public import GRDB
public import PenstockCore
internal import PenstockSQLite

/// Handlers of tasks: what they give, what they add to their workflow, and what other tasks gave.
extension Delivery {
    /// Says that the message is finished, and what it gave.
    ///
    /// - Parameter result: kept with the message as JSON, or as it is when it is bytes; up to `Limits.resultBytesMax` bytes. For
    ///   more than that keep a file, or a row of your own, and give where it is.
    /// - Throws: as ``done()``; what the encoding throws.
    public func done(result: some Encodable) async throws {
        try await settle(Settlement(lease, .done, result: ResultCodec.encode(result)))
    }

    /// Says that the message is finished, and adds tasks to the workflow that it is a task of, both or neither.
    ///
    /// ```swift
    /// var more = Workflow()
    /// for page in pages { try more.add("page \(page)", page, to: prints) }
    /// try await delivery.done(adding: more)
    /// ```
    ///
    /// - Parameters:
    ///   - tasks: what is added. Its tasks wait for none but each other.
    ///   - isAwaited: whether what waits for this message waits for all of the added tasks as well: they must be done.
    ///   - timeout: how long to wait for room in queues whose policy is `wait`; `nil`: as long as the lease is held. In the
    ///     delivery's own queue, and in others that its worker works, there is no wait, and `queueFull` is thrown: all their
    ///     workers could wait for each other.
    /// - Throws: as ``done()``, and `PenstockError` with code `invalidInput` when the message is no task, or its workflow has a
    ///   task of such a name already; `queueFull`, `timedOut`. After each of these the message is not settled.
    public func done(adding tasks: Workflow, isAwaited: Bool = true, timeout: Duration? = nil) async throws {
        try await done(Settlement(lease, .done, added: tasks.added(to: task, isAwaited: isAwaited)), timeout)
    }

    /// Says that the message is finished and what it gave, and adds tasks to the workflow that it is a task of: all of it, or
    /// nothing.
    ///
    /// It does as ``done(result:)`` and ``done(adding:isAwaited:timeout:)``.
    public func done(
        result: some Encodable, adding tasks: Workflow, isAwaited: Bool = true, timeout: Duration? = nil
    ) async throws {
        let added = try tasks.added(to: task, isAwaited: isAwaited)
        try await done(
            Settlement(lease, .done, result: try ResultCodec.encode(result), added: added), timeout)
    }

    /// What another task of the same workflow gave as it was done; `nil` when it gave nothing, or is not done.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when this message is no task; `unknownTask`; `undecodable` when what
    ///   it gave is no `Value`.
    public func result<Value: Decodable>(of task: String, as type: Value.Type) async throws -> Value? {
        try await holder.handle.storage.result(of: TaskName(task), in: place().workflow, as: type)
    }

    /// What this task has waited for, and how each of these tasks has ended.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when this message is no task.
    public func dependencies() async throws -> [DependencyRecord] {
        let place = try place()
        let storage = holder.handle.storage
        return try await storage.record(of: place.task, in: place.workflow, withResult: false).dependencies
    }

    // MARK: In a transaction

    /// Says that the message is finished and what it gave, within an application's own transaction.
    ///
    /// It does as ``done(in:)``.
    public func done(result: some Encodable, in database: Database) throws {
        try done(giving: result, joining: PoolTransaction(holder.handle.storage, database))
    }

    /// The same for a transaction of whatever engine.
    package func done(giving result: some Encodable, joining transaction: some ApplicationTransaction) throws {
        try done(result: ResultCodec.encode(result), joining: transaction)
    }

    /// Says that the message is finished and adds tasks to its workflow, within an application's own transaction. A full queue
    /// whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// It does as ``done(in:)`` and ``done(adding:isAwaited:timeout:)``.
    public func done(adding tasks: Workflow, isAwaited: Bool = true, in database: Database) throws {
        try done(adding: tasks, isAwaited: isAwaited, joining: PoolTransaction(holder.handle.storage, database))
    }

    package func done(
        adding tasks: Workflow, isAwaited: Bool, joining transaction: some ApplicationTransaction
    ) throws {
        let added = try tasks.added(to: task, isAwaited: isAwaited)
        try settle(Settlement(lease, .done, added: added), joining: transaction)
    }

    private func place() throws -> TaskPlace {
        guard let task else {
            throw PenstockError(.invalidInput, "The message \(sequence) is no task of a workflow.")
        }
        return task
    }
}
