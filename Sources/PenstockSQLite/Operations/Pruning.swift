import PenstockCore

/// Forgetting ended messages.
enum Pruning {
    /// Messages looked at in one step at most. A step's cost is bounded even when it finds nothing to forget.
    private static let lookMax: Int64 = 2000

    /// One step: forgets up to `request.limit` messages, in the order of sequence.
    ///
    /// By age, a step looks at the head of the log's ended messages; the log is nearly in the order in which messages
    /// end, so when a whole look finds none old enough, there are none but stragglers, which a later step finds.
    static func perform(_ request: PruneRequest, in transaction: Transaction) throws -> Pruned {
        let names: [QueueName]
        if let queue = request.queue {
            names = [queue]
        } else {
            names = try transaction.connection.all(selectNames) { QueueName(stored: $0.text(0) ?? "") }
        }
        var left = request.limit
        var hasMore = false
        for name in names where !hasMore {
            let account = try transaction.account(of: name)
            let retention = request.retention ?? account.policy.retention
            let outlived = try outlived(account, retention, limit: left + 1, in: transaction)
            for entry in outlived.prefix(left) { try forget(entry, in: transaction) }
            hasMore = outlived.count > left
            left -= min(left, outlived.count)
        }
        return Pruned(messages: request.limit - left, hasMore: hasMore)
    }

    /// Removes every trace of a message. Counts it out of its queue's depths.
    static func forget(_ entry: LineEntry, in transaction: Transaction) throws {
        let connection = transaction.connection
        if entry.keyed { try UniqueKeys.release(entry.sequence, entry.account, in: transaction) }
        try Line.remove(entry, in: transaction)
        entry.account.change.count(entry.state, -1)
        try connection.run(deleteAttempts, .integer(entry.sequence))
        try connection.run(deleteLog, .integer(entry.sequence))
    }

    /// The first `limit` messages of a queue that are beyond its retention.
    private static func outlived(
        _ account: QueueAccount, _ retention: Retention, limit: Int, in transaction: Transaction
    ) throws -> [LineEntry] {
        let now = transaction.now
        var found: [Int64: LineEntry] = [:]
        func add(_ entries: some Sequence<LineEntry>) {
            for entry in entries { found[entry.sequence] = entry }
        }
        if let age = retention.age {
            add(try ended(account, before: now - age, dead: false, limit, in: transaction))
        }
        if let age = retention.deadAge {
            add(try ended(account, before: now - age, dead: true, limit, in: transaction))
        }
        if let count = retention.count {
            let kept = try transaction.connection.first(readKept, .integer(account.id)) { $0.integer(0) } ?? 0
            let excess = kept + account.change.kept - Int64(count)
            if excess > 0 {
                let limit = min(Int(excess), limit)
                add(try ended(account, before: Timestamp(microseconds: .max), dead: false, limit, in: transaction))
            }
        }
        return Array(found.values.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// The first ended messages of a queue that ended before `moment`.
    private static func ended(
        _ account: QueueAccount, before moment: Timestamp, dead: Bool, _ limit: Int, in transaction: Transaction
    ) throws -> [LineEntry] {
        try transaction.connection.all(
            dead ? selectDead : selectEnded, .integer(account.id), .integer(moment.microseconds),
            .integer(max(lookMax, Int64(limit))), .integer(Int64(limit))
        ) { row in
            LineEntry(
                sequence: row.integer(0), account: account, state: row.text(1).flatMap(MessageState.init) ?? .done,
                priority: 0, attempt: 0, forgiven: 0, keyed: false)
        }
    }

    private static let selectNames = Query("SELECT name FROM penstock_queue ORDER BY name")
    private static let readKept = Query("SELECT kept FROM penstock_depth WHERE queue_id = ?1")
    private static let selectEnded = Query(
        """
        SELECT sequence, state FROM (SELECT sequence, state, finished_at FROM penstock_outcome
            WHERE queue_id = ?1 AND state <> 'dead' ORDER BY sequence LIMIT ?3)
        WHERE finished_at <= ?2 ORDER BY sequence LIMIT ?4
        """)
    private static let selectDead = Query(
        """
        SELECT sequence, state FROM (SELECT sequence, state, finished_at FROM penstock_outcome
            WHERE queue_id = ?1 AND state = 'dead' ORDER BY sequence LIMIT ?3)
        WHERE finished_at <= ?2 ORDER BY sequence LIMIT ?4
        """)
    private static let deleteAttempts = Query("DELETE FROM penstock_attempt WHERE sequence = ?1")
    private static let deleteLog = Query("DELETE FROM penstock_log WHERE sequence = ?1")
}
