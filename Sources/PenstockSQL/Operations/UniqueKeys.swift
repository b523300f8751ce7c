import PenstockCore

/// The message that has a unique key.
struct KeyHolder {
    var sequence: Int64
    /// When the first of those was accepted that were replaced one by the other, ending with this; `nil`: it replaced none.
    var since: Int64?
    /// When the key is free, if it is held for a period.
    var until: Int64?
}

/// What is known of a key as somebody is to have it.
struct KeyStanding {
    /// The message that has it.
    var holder: KeyHolder?
    /// Whether the row of a period that is over is still there.
    var hasElapsed = false
}

/// Which message holds a unique key.
///
/// A queue has one set of keys: while a message holds one, no other does, whatever their scopes. A key that is held until its
/// message has ended, or while that waits, is in `penstock_unique` and goes with the message's marks; one that is held for a period is in
/// `penstock_unique_period`, and nothing that becomes of its message moves it.
enum UniqueKeys {
    /// The message that holds `key`.
    static func standing(
        of key: String, _ account: QueueAccount, in transaction: Transaction
    ) throws -> KeyStanding {
        let found = try transaction.connection.first(read, .integer(account.id), .text(key)) {
            KeyHolder(sequence: $0.integer(0), since: $0.optionalInteger(1), until: $0.optionalInteger(2))
        }
        if let until = found?.until, until <= transaction.now.microseconds { return KeyStanding(hasElapsed: true) }
        return KeyStanding(holder: found)
    }

    /// How many dead letters of a queue had their keys until they died, which other messages have by now.
    static func deadWithoutKeyCount(
        of queue: QueueName, group: String?, at now: Timestamp, _ connection: Connection
    ) throws -> Int {
        guard let row = try PolicyCache().row(named: queue, connection) else { throw PenstockError.unknown(queue) }
        let count = try connection.integer(
            countDeadWithoutKey, .integer(row.id), Value(group), .integer(now.microseconds))
        return Int(count ?? 0)
    }

    /// The message that holds `key`, and where that is. A key that a message holds until its end which has ended, or is not there, is
    /// set aside: it would keep out every other for ever.
    static func liveStanding(
        of key: String, _ account: QueueAccount, in transaction: Transaction
    ) throws -> (standing: KeyStanding, entry: LineEntry?) {
        let standing = try standing(of: key, account, in: transaction)
        guard let holder = standing.holder else { return (standing, nil) }
        let entry = try Line.locate(holder.sequence, in: transaction)
        // A holder that has expired ends.
        if let entry, !entry.state.isFinished, try Expiring.endIfExpired(entry, in: transaction) {
            return try liveStanding(of: key, account, in: transaction)
        }
        if holder.until != nil { return (standing, entry) }
        if let entry, !entry.state.isFinished { return (standing, entry) }
        try Quarantine.setAside(
            .unique, holder.sequence, of: account.id, because: "The message that holds the key does not wait or run.",
            in: transaction)
        return (try self.standing(of: key, account, in: transaction), nil)
    }

    /// Gives `key` to message `sequence`. Nobody holds it, or in `standing` the message that `sequence` replaces.
    ///
    /// - Parameter since: when the first of those was accepted that were replaced one by the other; `nil`: it replaces none.
    static func hold(
        _ key: String, _ scope: KeyScope, _ sequence: Int64, _ standing: KeyStanding, since: Timestamp? = nil,
        _ account: QueueAccount, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        if standing.hasElapsed || standing.holder?.until != nil {
            try connection.run(deletePeriod, .integer(account.id), .text(key))
        }
        let since = Value(since?.microseconds)
        if case .period(let period) = scope {
            // A message that replaces another one has the rest of that one's period.
            let until = standing.holder?.until ?? (transaction.now + period).microseconds
            try connection.run(
                insertPeriod, .integer(account.id), .text(key), .integer(sequence), .integer(until), since)
        } else {
            try connection.run(insert, .integer(account.id), .text(key), .integer(sequence), since)
        }
    }

    /// Frees the key of message `sequence`, which has ended.
    static func release(_ sequence: Int64, _ account: QueueAccount, in transaction: Transaction) throws {
        try transaction.connection.run(delete, .integer(account.id), .integer(sequence))
    }

    /// Frees the keys of messages that were claimed, and that hold theirs only while they wait.
    static func releaseClaimed(
        _ sequences: [Int64], _ account: QueueAccount, in transaction: Transaction
    ) throws {
        if sequences.isEmpty { return }
        let list = Value.sequences(sequences)
        try transaction.connection.run(deleteClaimed, list, .integer(account.id))
        try transaction.connection.run(unmarkClaimed, list)
    }

    /// The key that message `sequence` was given, whether it holds it or not.
    static func key(of sequence: Int64, in transaction: Transaction) throws -> (key: String, scope: KeyScope)? {
        let found = try transaction.connection.first(readKey, .integer(sequence)) { row in
            row.text(0).map { ($0, KeyScope(stored: row.optionalInteger(1))) }
        }
        return found ?? nil
    }

    /// Gives a message its key that comes back from its worker, or has ended and comes back. If it holds it until its end no
    /// other one has it, as the caller has seen; if it holds it only while it waits, it goes without where another one has it.
    ///
    /// - Returns: the message's marks for that.
    static func holdAgain(_ sequence: Int64, _ account: QueueAccount, in transaction: Transaction) throws
        -> Marks
    {
        guard let (key, scope) = try key(of: sequence, in: transaction) else { return [] }
        if case .period = scope { return [] }
        let standing = try standing(of: key, account, in: transaction)
        if scope == .whileWaiting, standing.holder != nil { return .keyWhileWaiting }
        try hold(key, scope, sequence, standing, account, in: transaction)
        return Marks.held(scope)
    }

    /// Removes up to `limit` rows of periods that are over.
    ///
    /// - Returns: whether there may be more.
    static func forgetElapsed(of account: QueueAccount, limit: Int, in transaction: Transaction) throws -> Bool {
        try transaction.connection.run(
            deleteElapsed, .integer(account.id), .integer(transaction.now.microseconds), .integer(Int64(limit)))
        return try transaction.connection.changesCount() >= limit
    }

    private static let read = Query(
        """
        SELECT sequence, since, NULL FROM penstock_unique WHERE queue_id = ?1 AND unique_key = ?2
        UNION ALL
        SELECT sequence, since, until FROM penstock_unique_period WHERE queue_id = ?1 AND unique_key = ?2
        """)
    private static let readKey = Query("SELECT unique_key, key_scope FROM penstock_log WHERE sequence = ?1")
    private static let countDeadWithoutKey = Query(
        """
        SELECT count(*) FROM penstock_outcome AS outcome INDEXED BY penstock_outcome_dead
        CROSS JOIN penstock_log AS log ON log.sequence = outcome.sequence
        WHERE outcome.queue_id = ?1 AND outcome.state = 'dead'
        AND log.unique_key IS NOT NULL AND log.key_scope IS NULL AND (CAST(?2 AS TEXT) IS NULL OR log.group_key = ?2)
        AND (EXISTS (SELECT 1 FROM penstock_unique AS held
                WHERE held.queue_id = outcome.queue_id AND held.unique_key = log.unique_key)
            OR EXISTS (SELECT 1 FROM penstock_unique_period AS held
                WHERE held.queue_id = outcome.queue_id AND held.unique_key = log.unique_key AND held.until > ?3))
        """)
    private static let insert = Query(
        "INSERT INTO penstock_unique (queue_id, unique_key, sequence, since) VALUES (?1, ?2, ?3, ?4)")
    private static let insertPeriod = Query(
        "INSERT INTO penstock_unique_period (queue_id, unique_key, sequence, until, since) VALUES (?1, ?2, ?3, ?4, ?5)")
    private static let delete = Query(
        """
        DELETE FROM penstock_unique WHERE queue_id = ?1 AND sequence = ?2
            AND unique_key = (SELECT unique_key FROM penstock_log WHERE sequence = ?2)
        """)
    private static let deletePeriod = Query(
        "DELETE FROM penstock_unique_period WHERE queue_id = ?1 AND unique_key = ?2")
    private static let isListed = "sequence IN (SELECT value FROM json_each(?1))"
    private static let deleteClaimed = Query(
        """
        DELETE FROM penstock_unique WHERE queue_id = ?2 AND +\(isListed) AND unique_key IN (
            SELECT unique_key FROM penstock_log WHERE \(isListed))
        """)
    private static let unmarkClaimed = Query(
        "UPDATE penstock_lease SET marks = marks & ~\(Marks.uniqueKey.rawValue) WHERE \(isListed)")
    private static let deleteElapsed = Query(
        """
        DELETE FROM penstock_unique_period WHERE queue_id = ?1 AND unique_key IN (
            SELECT unique_key FROM penstock_unique_period INDEXED BY penstock_unique_period_until
            WHERE queue_id = ?1 AND until <= ?2 LIMIT ?3)
        """)
}
