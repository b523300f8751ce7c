import PenstockCore

/// Forgetting ended messages.
enum Pruning {
    /// Messages forgotten in one step at most, so that it never holds the writer long.
    static let stepMax = 10_000

    /// One step: forgets up to `request.limit` messages.
    static func perform(_ request: PruneRequest, in transaction: Transaction) throws -> Pruned {
        let names: [QueueName]
        if let queue = request.queue {
            names = [queue]
        } else {
            names = try transaction.connection.all(selectNames) { QueueName(stored: $0.text(0) ?? "") }
        }
        let limit = min(request.limit, stepMax)
        var left = limit
        var hasMore = false
        for name in names where !hasMore {
            let account = try transaction.account(of: name)
            let retention = request.retention ?? account.policy.retention
            let pruned = try forget(beyond: retention, of: account, limit: left, in: transaction)
            hasMore = pruned.hasMore
            left -= pruned.messages
        }
        return Pruned(messages: limit - left, hasMore: hasMore)
    }

    /// Forgets up to `limit` messages of a queue that are beyond `retention`, and counts for each cursor which of them
    /// it had not come to.
    @discardableResult
    static func forget(
        beyond retention: Retention, of account: QueueAccount, limit: Int, in transaction: Transaction
    ) throws -> Pruned {
        let outlived = try outlived(account, retention, limit: limit + 1, in: transaction)
        for entry in outlived.prefix(limit) { try forget(entry, in: transaction) }
        try Cursors.count(forgotten: outlived.prefix(limit).map(\.sequence), account, in: transaction)
        return Pruned(messages: min(limit, outlived.count), hasMore: outlived.count > limit)
    }

    /// Removes every trace of a message. Counts it out of its queue's depths.
    static func forget(_ entry: LineEntry, in transaction: Transaction) throws {
        if entry.keyed { try UniqueKeys.release(entry.sequence, entry.account, in: transaction) }
        try Line.remove(entry, in: transaction)
        entry.account.change.count(entry.state, -1)
        try forgetTraces(of: entry.sequence, in: transaction)
    }

    /// Removes a message from the log, and the record of its attempts.
    static func forgetTraces(of sequence: Int64, in transaction: Transaction) throws {
        try transaction.connection.run(deleteAttempts, .integer(sequence))
        try transaction.connection.run(deleteLog, .integer(sequence))
    }

    /// Up to `limit` messages of a queue that are beyond its retention; fewer only when there are no more.
    private static func outlived(
        _ account: QueueAccount, _ retention: Retention, limit: Int, in transaction: Transaction
    ) throws -> [LineEntry] {
        let connection = transaction.connection
        let id = Value.integer(account.id)
        let most = Value.integer(Int64(limit))
        var found: [Int64: LineEntry] = [:]
        func add(_ entries: [LineEntry]) {
            for entry in entries { found[entry.sequence] = entry }
        }
        func entry(_ row: PreparedStatement) -> LineEntry {
            LineEntry(
                sequence: row.integer(0), account: account, state: row.text(1).flatMap(MessageState.init) ?? .done,
                priority: 0, attempt: 0, forgiven: 0, keyed: false)
        }
        if let count = retention.count {
            let kept = try connection.first(readKept, id) { $0.integer(0) } ?? 0
            let excess = kept + account.change.kept - Int64(count)
            if excess > 0 {
                add(try connection.all(selectFirst, id, .integer(min(excess, Int64(limit))), read: entry))
            }
        }
        if let age = retention.age {
            let moment = (transaction.now - age).microseconds
            add(try connection.all(selectEnded, id, .integer(moment), most, read: entry))
        }
        if let age = retention.deadAge {
            let moment = (transaction.now - age).microseconds
            add(try connection.all(selectDied, id, .integer(moment), most, read: entry))
        }
        return Array(found.values.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    private static let selectNames = Query("SELECT name FROM penstock_queue ORDER BY name")
    private static let readKept = Query("SELECT kept FROM penstock_depth WHERE queue_id = ?1")
    private static let selectFirst = Query(
        """
        SELECT sequence, state FROM penstock_outcome
        WHERE queue_id = ?1 AND state <> 'dead' ORDER BY sequence LIMIT ?2
        """)
    private static let selectEnded = Query(
        """
        SELECT sequence, state FROM penstock_outcome
        WHERE queue_id = ?1 AND state <> 'dead' AND finished_at <= ?2 ORDER BY finished_at LIMIT ?3
        """)
    private static let selectDied = Query(
        """
        SELECT sequence, state FROM penstock_outcome
        WHERE queue_id = ?1 AND state = 'dead' AND finished_at <= ?2 ORDER BY finished_at LIMIT ?3
        """)
    private static let deleteAttempts = Query("DELETE FROM penstock_attempt WHERE sequence = ?1")
    private static let deleteLog = Query("DELETE FROM penstock_log WHERE sequence = ?1")
}
