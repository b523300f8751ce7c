public import GRDB
public import PenstockCore
internal import PenstockSQL
internal import PenstockSQLite

extension Queue {
    /// Puts an element in line within an application's own transaction: it is there when that commits, and only then.
    ///
    /// For stores that were opened on the application's pool. The durability is that of the transaction. A full queue
    /// whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try order.insert(db)
    ///     try orders.enqueue(order.id, in: db)
    /// }
    /// ```
    ///
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput` or `queueFull`, or what else the store
    ///   throws. The transaction can go on then: nothing was enqueued.
    @discardableResult
    public func enqueue(
        _ element: Element,
        options: EnqueueOptions = EnqueueOptions(),
        in database: Database
    ) throws -> Receipt {
        try enqueue(element, options: options, joining: PoolTransaction(storage, database))
    }

    /// Puts elements in line within an application's own transaction, in their order, each with options of its own.
    ///
    /// It does as ``enqueue(_:options:in:)-(Element,_,_)``.
    @discardableResult
    public func enqueue(
        contentsOf elements: [Element],
        in database: Database,
        options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) throws -> [Receipt] {
        try enqueue(contentsOf: elements, joining: PoolTransaction(storage, database), options: options)
    }
}

/// The same for a transaction of whatever engine.
extension Queue {
    package func enqueue(
        _ element: Element, options: EnqueueOptions, joining transaction: some ApplicationTransaction
    ) throws -> Receipt {
        try only(enqueue([message(element, options)], joining: transaction))
    }

    package func enqueue(
        contentsOf elements: [Element], joining transaction: some ApplicationTransaction,
        options: (Element) throws -> EnqueueOptions
    ) throws -> [Receipt] {
        try enqueue(elements.map { try message($0, options($0)) }, joining: transaction)
    }

    package func enqueue(
        _ messages: [NewMessage], joining transaction: some ApplicationTransaction
    ) throws -> [Receipt] {
        try PenstockError.refuseOther(transaction, than: storage)
        let receipts =
            if let tracing = handle.tracing {
                try tracing.send(messages, to: name) { try transaction.enqueue($0, to: name) }
            } else {
                try transaction.enqueue(messages, to: name)
            }
        // Counted now, though the transaction may still be rolled back: it is the caller's.
        metrics.record(receipts, of: messages)
        return receipts
    }
}

extension Queue where Element == [UInt8] {
    /// Puts messages in line within an application's own transaction, in their order, each with options of its own.
    ///
    /// It does as ``enqueue(_:options:in:)-(Element,_,_)``.
    @discardableResult
    public func enqueue(_ messages: [NewMessage], in database: Database) throws -> [Receipt] {
        try enqueue(messages, joining: PoolTransaction(storage, database))
    }
}
