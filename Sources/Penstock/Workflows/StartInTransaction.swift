public import GRDB
package import PenstockCore
internal import PenstockSQL
internal import PenstockSQLite

extension PenstockStore {
    /// Starts a workflow within an application's own transaction: it begins when that commits, and only then.
    ///
    /// For stores that were opened on the application's pool. A full queue whose policy is `wait` cannot wait here, and
    /// fails as `fail` does.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try order.insert(db)
    ///     try store.start(workflow, in: db)
    /// }
    /// ```
    ///
    /// - Throws: `PenstockError` as a start elsewhere. The transaction can go on then: nothing was enqueued.
    @discardableResult
    public func start(_ workflow: Workflow, in database: Database) throws -> StartReceipt {
        try start(workflow, joining: PoolTransaction(storage, database))
    }

    /// Tells a message, or all tasks of a workflow, of something that happened outside, within an application's own
    /// transaction. Handlers that wait for it go on when that commits.
    ///
    /// It does as ``emit(_:_:to:durability:)``.
    @discardableResult
    public func emit(
        _ name: String, _ value: some Encodable, to target: EventTarget, in database: Database
    ) throws -> Bool {
        try emit(name, value, to: target, joining: PoolTransaction(storage, database))
    }
}

/// The same for a transaction of whatever engine.
extension PenstockStore {
    package func start(_ workflow: Workflow, joining transaction: some ApplicationTransaction) throws -> StartReceipt {
        try PenstockError.refuseOther(transaction, than: storage)
        let new = try workflow.new()
        let started = try transaction.start(new)
        guard !started.isNew else { return handle.made(new.tasks, started) }
        var tasks: [TaskRecord] = []
        var query = TaskQuery(started.name)
        while case let page = try transaction.tasks(query), let last = page.last {
            tasks += page
            query.after = last.sequence
        }
        return StartReceipt(of: tasks, started)
    }

    package func emit(
        _ name: String, _ value: some Encodable, to target: EventTarget,
        joining transaction: some ApplicationTransaction
    ) throws -> Bool {
        try PenstockError.refuseOther(transaction, than: storage)
        return try transaction.emit(NewEvent(EventName(name), payload: ResultCodec.encode(value)), to: target)
    }
}
