public import GRDB
internal import PenstockCore
internal import PenstockSQL
internal import PenstockSQLite

extension Delivery {
    /// Takes a step within an application's own transaction, unless it is over: then what it gave comes from the record. What the
    /// step writes and its record are one transaction, so it happens exactly once, whatever dies when.
    ///
    /// For stores that were opened on the application's pool. When the transaction is rolled back, the step was not taken, and can
    /// be taken again, also in the same run, unless its body threw. In a loop that goes on after that, put the item into the name.
    ///
    /// ```swift
    /// let balance = try await pool.write { db in
    ///     try delivery.step("book", in: db) { try account.withdraw(cents, in: db) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the step's name in its message, without `#`.
    ///   - database: the connection of the transaction.
    ///   - body: does it.
    /// - Throws: what `body` throws, and `PenstockError` as a step elsewhere; let it end the transaction.
    ///   `invalidInput` also when there is no transaction, or the store is not on SQLite.
    public func step<Value: Codable & Sendable>(
        _ name: String, in database: Database, _ body: () throws -> Value
    ) throws -> Value {
        try step(name, joining: PoolTransaction(holder.handle.storage, database), body)
    }

    /// Takes a step that gives nothing within an application's own transaction, unless it is over.
    public func step(_ name: String, in database: Database, _ body: () throws -> Void) throws {
        try step(name, joining: PoolTransaction(holder.handle.storage, database), body)
    }
}

/// The same for a transaction of whatever engine.
extension Delivery {
    package func step<Value: Codable & Sendable>(
        _ name: String, joining transaction: some ApplicationTransaction, _ body: () throws -> Value
    ) throws -> Value {
        let bytes = try journal.step(name, joining: transaction) {
            try StepJournal.encode(try body(), of: name)
        }
        return try ResultCodec.decode(bytes, as: Value.self, of: "the step '\(name)' of message \(sequence)")
    }

    package func step(
        _ name: String, joining transaction: some ApplicationTransaction, _ body: () throws -> Void
    ) throws {
        _ = try journal.step(name, joining: transaction) {
            try body()
            return []
        }
    }
}

extension StepJournal {
    /// Gives what the transaction sees on record of a step, or else calls `body` and records what that gives.
    fileprivate func step(
        _ given: String, joining transaction: some ApplicationTransaction, _ body: () throws -> [UInt8]
    ) throws -> [UInt8] {
        try PenstockError.refuseOther(transaction, than: holder.handle.storage)
        try refuseStopped()
        let journal = try transaction.journal(of: lease.sequence)
        let records = Dictionary(journal.steps.map { ($0.name, $0) }) { first, _ in first }
        // A name that was taken in a transaction, or a savepoint, that came to nothing is free again.
        let name = try take(given) { isInTransaction($0) && records[$0] == nil }
        noteInTransaction(name)
        try open(given)
        do {
            if let record = records[name] {
                close(given)
                return record.result
            }
            try holder.requireHeld(lease)
            let bytes = records.values.reduce(0) { $0 + $1.result.count }
            try StepRecord.validateRoom(count: records.count + 1, bytes: bytes)
            let result = try inside(body)
            try requireAlone(given)
            try StepRecord.validateGiven(result, bytesBefore: bytes)
            let record = try transaction.record(name, result: result, on: lease)
            close(given)
            return record.result
        } catch {
            leaveOpen(given)
            if (error as? PenstockError)?.code == .leaseLost { holder.inFlight.lose(lease) }
            throw error
        }
    }
}
