import PenstockCore

/// Which message that waits or runs holds a unique key.
enum UniqueKeys {
    /// The message that holds `key`, if there is one.
    static func holder(of key: String, _ account: QueueAccount, in transaction: Transaction) throws -> Int64? {
        try transaction.connection.first(read, .integer(account.id), .text(key)) { $0.integer(0) }
    }

    /// The message that holds `key` and waits or runs, if there is one. A key that a message holds which has ended, or is
    /// not there, is set aside: it would keep out every other for ever. A holder that has expired ends.
    static func liveHolder(
        of key: String, _ account: QueueAccount, in transaction: Transaction
    ) throws -> (sequence: Int64, entry: LineEntry)? {
        guard let holder = try holder(of: key, account, in: transaction) else { return nil }
        if let entry = try Line.locate(holder, in: transaction), !entry.state.isFinished {
            return try Expiring.endIfExpired(entry, in: transaction) ? nil : (holder, entry)
        }
        try Quarantine.setAside(
            .unique, holder, of: account.id, because: "The message that holds the key does not wait or run.",
            in: transaction)
        return nil
    }

    /// Gives `key` to message `sequence`. Nobody holds it.
    static func hold(
        _ key: String, _ sequence: Int64, _ account: QueueAccount, in transaction: Transaction
    ) throws {
        try transaction.connection.run(insert, .integer(account.id), .text(key), .integer(sequence))
    }

    /// Frees the key of message `sequence`, which has ended.
    static func release(_ sequence: Int64, _ account: QueueAccount, in transaction: Transaction) throws {
        try transaction.connection.run(delete, .integer(account.id), .integer(sequence))
    }

    /// The key that message `sequence` was given, whether it holds it or not.
    static func key(of sequence: Int64, in transaction: Transaction) throws -> String? {
        try transaction.connection.first(readKey, .integer(sequence)) { $0.text(0) } ?? nil
    }

    /// Gives a redriven message its key back. No other message holds it: the caller has looked.
    ///
    /// - Returns: whether the message has a key.
    static func holdAgain(_ sequence: Int64, _ account: QueueAccount, in transaction: Transaction) throws -> Bool {
        guard let key = try key(of: sequence, in: transaction) else { return false }
        try hold(key, sequence, account, in: transaction)
        return true
    }

    private static let read = Query(
        "SELECT sequence FROM penstock_unique WHERE queue_id = ?1 AND unique_key = ?2")
    private static let readKey = Query("SELECT unique_key FROM penstock_log WHERE sequence = ?1")
    private static let insert = Query(
        "INSERT INTO penstock_unique (queue_id, unique_key, sequence) VALUES (?1, ?2, ?3)")
    private static let delete = Query(
        """
        DELETE FROM penstock_unique WHERE queue_id = ?1 AND sequence = ?2
            AND unique_key = (SELECT unique_key FROM penstock_log WHERE sequence = ?2)
        """)
}
