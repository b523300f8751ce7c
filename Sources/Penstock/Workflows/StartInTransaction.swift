public import GRDB
internal import PenstockCore
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
        guard let store = storage as? SQLiteStore else { throw PenstockError.notInATransaction }
        let new = try workflow.new()
        let started = try store.start(new, in: database)
        guard !started.isNew else { return handle.made(new.tasks, started) }
        var tasks: [TaskRecord] = []
        var query = TaskQuery(started.name)
        while case let page = try store.tasks(query, in: database), let last = page.last {
            tasks += page
            query.after = last.sequence
        }
        return StartReceipt(of: tasks, started)
    }

    /// Tells a message, or all tasks of a workflow, of something that happened outside, within an application's own
    /// transaction. Handlers that wait for it go on when that commits.
    ///
    /// It does as ``emit(_:_:to:durability:)``.
    @discardableResult
    public func emit(
        _ name: String, _ value: some Encodable, to target: EventTarget, in database: Database
    ) throws -> Bool {
        guard let store = storage as? SQLiteStore else { throw PenstockError.notInATransaction }
        return try store.emit(NewEvent(EventName(name), payload: ResultCodec.encode(value)), to: target, in: database)
    }
}
