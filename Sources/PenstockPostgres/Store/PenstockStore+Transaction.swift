public import Penstock
public import PenstockCore
import PenstockProcesses

extension PenstockStore {
    /// Runs `body` in a transaction of the application's own: its statements, and what it enqueues and settles beside them, are there
    /// together when this returns, or not at all.
    ///
    /// ```swift
    /// try await store.transaction { transaction in
    ///     try transaction.execute("INSERT INTO shipment (order_id) VALUES ($1)", .integer(order.id))
    ///     try mails.enqueue(Mail(about: order), in: transaction)
    ///     try delivery.done(in: transaction)
    /// }
    /// ```
    ///
    /// `body` is run once, on a thread of its own, and may block. When it throws, or the process dies, nothing was done. Each process has four
    /// such transactions at once at most; further callers wait. A task that is cancelled does not end one.
    ///
    /// - Parameters:
    ///   - durability: what the commit must survive; `nil`: as the store was opened.
    ///   - timeout: how long all of it may take, from this call to the commit. Between two calls of `body` there may be ten seconds.
    ///   - body: uses the transaction and calls nothing that waits for the store.
    /// - Returns: what `body` gave.
    /// - Throws: what `body` threw; ``PostgresError`` when a constraint is found violated at the end; `PenstockError` with code
    ///   `invalidInput` (this store is not in PostgreSQL, or a statement had failed), `readOnly`, `closed`, `busy`, `unreachable` (nothing
    ///   was done), or `outcomeUnknown`: nobody knows whether it was committed, or is on the disk.
    public func transaction<Answer: Sendable>(
        durability: Durability? = nil, timeout: Duration = .seconds(30),
        _ body: @escaping @Sendable (PostgresTransaction) throws -> Answer
    ) async throws -> Answer {
        guard let store = storage as? PostgresStore else {
            throw PenstockError(
                .invalidInput,
                "This store is not in PostgreSQL; of one on a database pool use `pool.write`, and its calls with `in:`."
            )
        }
        return try await store.transaction(
            durability: durability ?? self.durability, timeout: timeout, body)
    }

    /// Starts a workflow within an application's own transaction: it begins when that commits, and only then.
    ///
    /// A full queue whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// - Throws: `PenstockError` as a start elsewhere. The transaction can go on then: nothing was enqueued.
    @discardableResult
    public func start(_ workflow: Workflow, in transaction: PostgresTransaction) throws -> StartReceipt {
        try start(workflow, joining: transaction)
    }

    /// Tells a message, or all tasks of a workflow, of something that happened outside, within an application's own
    /// transaction. Handlers that wait for it go on when that commits.
    ///
    /// - Parameters:
    ///   - name: the event's name.
    ///   - value: what is told, as JSON.
    ///   - target: a message, or a workflow.
    ///   - transaction: the transaction.
    /// - Returns: whether it is the first of its name; of later ones nobody hears.
    /// - Throws: what encoding throws; `PenstockError` as an event elsewhere. The transaction can go on then.
    @discardableResult
    public func emit(
        _ name: String, _ value: some Encodable, to target: EventTarget, in transaction: PostgresTransaction
    ) throws -> Bool {
        try emit(name, value, to: target, joining: transaction)
    }
}

extension Queue {
    /// Puts an element in line within an application's own transaction: it is there when that commits, and only then.
    ///
    /// A full queue whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput` or `queueFull`, or what else the store
    ///   throws. The transaction can go on then: nothing was enqueued.
    @discardableResult
    public func enqueue(
        _ element: Element, options: EnqueueOptions = EnqueueOptions(), in transaction: PostgresTransaction
    ) throws -> Receipt {
        try enqueue(element, options: options, joining: transaction)
    }

    /// Puts elements in line within an application's own transaction, in their order, each with options of its own.
    ///
    /// It does as ``enqueue(_:options:in:)``.
    @discardableResult
    public func enqueue(
        contentsOf elements: [Element], in transaction: PostgresTransaction,
        options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) throws -> [Receipt] {
        try enqueue(contentsOf: elements, joining: transaction, options: options)
    }
}

extension Queue where Element == [UInt8] {
    /// Puts messages in line within an application's own transaction, in their order, each with options of its own.
    ///
    /// It does as ``enqueue(_:options:in:)``.
    @discardableResult
    public func enqueue(_ messages: [NewMessage], in transaction: PostgresTransaction) throws -> [Receipt] {
        try enqueue(messages, joining: transaction)
    }
}

extension Delivery {
    /// Says that the message is finished, within an application's own transaction: it is when that commits, and only
    /// then. What the application writes beside it in the same transaction happens exactly once, whatever dies when.
    ///
    /// When the transaction is rolled back, the delivery is as before. In a `Worker` a handler that has done this returns, and
    /// throws when its transaction came to nothing.
    ///
    /// - Throws: `PenstockError` with code `leaseLost`; let it end the transaction, as another worker has the message.
    public func done(in transaction: PostgresTransaction) throws {
        try done(joining: transaction)
    }

    /// Says that the message is finished and what it gave, within an application's own transaction.
    ///
    /// It does as ``done(in:)``.
    public func done(result: some Encodable, in transaction: PostgresTransaction) throws {
        try done(giving: result, joining: transaction)
    }

    /// Says that the message is finished and puts what follows it in line, within an application's own transaction. A full queue
    /// whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// It does as ``done(in:)``.
    public func done(then drafts: [Draft], in transaction: PostgresTransaction) throws {
        try done(then: drafts, joining: transaction)
    }

    /// Says that the message is finished and adds tasks to the workflow that it is a task of, within an application's own
    /// transaction.
    ///
    /// It does as ``done(in:)``.
    ///
    /// - Parameters:
    ///   - tasks: what is added. Its tasks wait for none but each other.
    ///   - isAwaited: whether what waits for this message waits for all of the added tasks as well: they must be done.
    ///   - transaction: the transaction.
    public func done(adding tasks: Workflow, isAwaited: Bool = true, in transaction: PostgresTransaction) throws {
        try done(adding: tasks, isAwaited: isAwaited, joining: transaction)
    }

    /// Takes a step within an application's own transaction, unless it is over: then what it gave comes from the record. What the
    /// step writes and its record are one transaction, so it happens exactly once, whatever dies when.
    ///
    /// When the transaction is rolled back, the step was not taken, and can be taken again, also in the same run, unless its body
    /// threw. In a loop that goes on after that, put the item into the name.
    ///
    /// ```swift
    /// let balance = try await store.transaction { transaction in
    ///     try delivery.step("book", in: transaction) { try account.withdraw(cents, in: transaction) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the step's name in its message, without `#`.
    ///   - transaction: the transaction.
    ///   - body: does it.
    /// - Throws: what `body` throws, and `PenstockError` as a step elsewhere; let it end the transaction.
    public func step<Value: Codable & Sendable>(
        _ name: String, in transaction: PostgresTransaction, _ body: () throws -> Value
    ) throws -> Value {
        try step(name, joining: transaction, body)
    }

    /// Takes a step that gives nothing within an application's own transaction, unless it is over.
    ///
    /// It does as the one whose body gives a value.
    public func step(_ name: String, in transaction: PostgresTransaction, _ body: () throws -> Void) throws {
        try step(name, joining: transaction, body)
    }
}
