public import GRDB
internal import PenstockCore
internal import PenstockSQLite

extension Delivery {
    /// Says that the message is finished, within an application's own transaction: it is when that commits, and only
    /// then. What the application writes beside it in the same transaction happens exactly once, whatever dies when.
    ///
    /// For stores that were opened on the application's pool. When the transaction is rolled back, the delivery is as
    /// before. In a ``Worker`` a handler that has done this returns, and throws when its transaction came to nothing.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try shipment.insert(db)
    ///     try delivery.done(in: db)
    ///     try mails.enqueue(Mail(about: shipment), in: db)
    /// }
    /// ```
    ///
    /// - Throws: `PenstockError` with code `leaseLost`; let it end the transaction, as another worker has the message.
    ///   `invalidInput` when there is no transaction, or the store is not on SQLite.
    public func done(in database: Database) throws {
        try done(joining: PoolTransaction(holder.handle.storage, database))
    }
}

extension PenstockError {
    /// The store cannot join a transaction.
    static let notInATransaction = PenstockError(
        .invalidInput,
        "This store is not one on SQLite, so it cannot join a transaction; open it on the database pool.")
}
