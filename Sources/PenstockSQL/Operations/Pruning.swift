import PenstockCore

/// Forgetting ended messages, and ending those that have expired.
enum Pruning {
    /// Messages forgotten in one step at most, so that it never holds the writer long.
    static let stepMax = 10_000

    /// What a step has come to.
    struct Step: Sendable {
        var pruned: Pruned
        /// Where another step goes on, as this one has looked at enough; `nil` when it came to its limit or its end.
        var place: RetentionLook.Place?
    }

    /// One step: forgets up to `request.limit` messages, from where another one has stopped.
    static func perform(
        _ request: PruneRequest, from place: RetentionLook.Place?, in transaction: Transaction
    ) throws -> Step {
        var names: [QueueName]
        if let queue = request.queue {
            try transaction.account(of: queue).refuseArriving(in: transaction)
            names = [queue]
        } else {
            names = try transaction.connection.all(selectNames) { QueueName(stored: $0.text(0) ?? "") }
        }
        if let place {
            names = Array(names.drop { $0 != place.queue })
        } else if try !endExpired(of: names, in: transaction) {
            return Step(pruned: Pruned(hasMore: true))
        }
        let limit = min(request.limit, stepMax)
        var left = limit
        var hasMore = false
        guard let first = names.first else { return Step(pruned: Pruned()) }
        var look = RetentionLook(at: place ?? RetentionLook.Place(queue: first))
        for name in names where !hasMore {
            let account = try transaction.account(of: name)
            if try account.isArriving(in: transaction) { continue }
            let retention = request.retention ?? account.policy.retention
            look.begin(name)
            if try UniqueKeys.forgetElapsed(of: account, limit: stepMax, in: transaction) { hasMore = true }
            let pruned = try forget(beyond: retention, of: account, limit: left, &look, in: transaction)
            if pruned.hasMore { hasMore = true }
            left -= pruned.messages
            if look.isSpent, !hasMore { return Step(pruned: Pruned(messages: limit - left), place: look.place) }
        }
        return Step(pruned: Pruned(messages: limit - left, hasMore: hasMore))
    }

    /// Ends messages of these queues that have expired, up to ``Limits/expiryCountMax`` of them. Claims do so for queues that are
    /// worked.
    ///
    /// - Returns: whether none is left.
    private static func endExpired(of names: [QueueName], in transaction: Transaction) throws -> Bool {
        var left = Limits.expiryCountMax
        for name in names {
            let account = try transaction.account(of: name)
            if account.isDeleting { continue }
            let step = try Expiring.perform(account, limit: left, in: transaction)
            if step.hasMore(at: transaction.now) { return false }
            left -= step.count
        }
        return true
    }

    /// Forgets up to `limit` messages of a queue that are beyond `retention`, and counts for each cursor which of them
    /// it had not come to.
    @discardableResult
    static func forget(
        beyond retention: Retention, of account: QueueAccount, limit: Int, _ look: inout RetentionLook,
        in transaction: Transaction
    ) throws -> Pruned {
        var traces = try Traces(transaction.connection)
        // Without workflows, as most files are, nothing is asked of each message.
        let outlived =
            traces.hasTasks
            ? try look.outlived(account, retention, limit: limit + 1, in: transaction)
            : try outlived(account, retention, limit: limit + 1, in: transaction)
        let forgotten = outlived.prefix(limit)
        if forgotten.isEmpty { return Pruned(messages: 0, hasMore: !outlived.isEmpty) }
        let freed = try Groups.letGo(forgotten, account, in: transaction)
        if traces.hasTasks {
            // A task that was told nothing of a dead letter, as that is held, may wait for it when another one is redriven.
            for entry in forgotten where entry.state == .dead {
                if try TaskRows.has(entry.sequence, transaction.connection) { transaction.cascade.note(entry.sequence) }
            }
        }
        try forget(ended: forgotten.map(\.sequence), account, &traces, in: transaction)
        for group in freed { try Groups.permitNext(of: group, in: transaction) }
        for entry in forgotten { account.change.count(entry.state, -1) }
        try Cursors.count(forgotten: forgotten.map(\.sequence), account, in: transaction)
        return Pruned(messages: forgotten.count, hasMore: outlived.count > limit)
    }

    /// Removes every trace of ended messages of a queue, which are in order. Counts nothing.
    ///
    /// Neighbours go together, by three statements: in a queue that is a log that is mostly all of them.
    private static func forget(
        ended sequences: [Int64], _ account: QueueAccount, _ traces: inout Traces, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        var first = sequences.startIndex
        for index in sequences.indices
        where index + 1 == sequences.endIndex || sequences[index + 1] != sequences[index] &+ 1 {
            let (low, high) = (sequences[first], sequences[index])
            first = index + 1
            try connection.run(deleteOutcomes) { row in
                row.bind(account.id, at: 1)
                row.bind(low, at: 2)
                row.bind(high, at: 3)
            }
            for query in [deleteAttemptsOfMany, deleteLogOfMany] {
                try connection.run(query) { row in
                    row.bind(low, at: 1)
                    row.bind(high, at: 2)
                }
            }
            try traces.forget(low...max(low, high), connection)
        }
        try traces.forgetWorkflows(connection)
    }

    /// Removes every trace of a message. Counts it out of its queue's depths.
    static func forget(_ entry: LineEntry, in transaction: Transaction) throws {
        if entry.marks.contains(.uniqueKey) {
            try UniqueKeys.release(entry.sequence, entry.account, in: transaction)
        }
        if entry.marks.contains(.expiry) { try ExpiryRows.end(entry.sequence, transaction.connection) }
        try Line.remove(entry, in: transaction)
        entry.account.change.count(entry.state, -1)
        try forgetTraces(of: entry.sequence, in: transaction)
    }

    /// Removes a message from the log, and all that it has left behind. Tasks that wait for it are told that it is gone.
    static func forgetTraces(of sequence: Int64, in transaction: Transaction) throws {
        let connection = transaction.connection
        var traces = try Traces(connection)
        if traces.hasTasks, try TaskRows.has(sequence, connection) { transaction.cascade.note(sequence) }
        try traces.forget(sequence...sequence, connection)
        try traces.forgetWorkflows(connection)
        try transaction.connection.run(deleteAttempts, .integer(sequence))
        try transaction.connection.run(deleteLog, .integer(sequence))
    }

    /// How many messages the queue's retention counts.
    static func keptCount(_ account: QueueAccount, in transaction: Transaction) throws -> Int64 {
        let kept = try transaction.connection.first(readKept, .integer(account.id)) { $0.integer(0) } ?? 0
        return kept.clamped(to: StoredRange.counts) + account.change.kept
    }

    /// Up to `limit` messages of a queue that are beyond its retention, in a file without tasks; fewer only when there are no
    /// more.
    private static func outlived(
        _ account: QueueAccount, _ retention: Retention, limit: Int, in transaction: Transaction
    ) throws -> [LineEntry] {
        let connection = transaction.connection
        let id = Value.integer(account.id)
        let most = Value.integer(Int64(limit))
        var first: [LineEntry] = []
        var found: [Int64: LineEntry] = [:]
        func add(_ entries: [LineEntry]) {
            for entry in entries { found[entry.sequence] = entry }
        }
        func entry(_ row: PreparedStatement) -> LineEntry {
            LineEntry(
                sequence: row.integer(0), account: account, state: row.text(1).flatMap(MessageState.init) ?? .done,
                priority: 0, attempt: 0, forgiven: 0, marks: [])
        }
        if let count = retention.count {
            let excess = try keptCount(account, in: transaction) - Int64(count)
            if excess > 0 {
                first = try connection.all(selectFirst, id, .integer(min(excess, Int64(limit))), read: entry)
            }
        }
        // Of one kind they are in order: the way of each append to a log that is full.
        if retention.age == nil, retention.deadAge == nil { return first }
        for entry in first { found[entry.sequence] = entry }
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
    private static let deleteOutcomes = Query(
        "DELETE FROM penstock_outcome WHERE queue_id = ?1 AND sequence BETWEEN ?2 AND ?3")
    private static let deleteAttemptsOfMany = Query("DELETE FROM penstock_attempt WHERE sequence BETWEEN ?1 AND ?2")
    private static let deleteLogOfMany = Query("DELETE FROM penstock_log WHERE sequence BETWEEN ?1 AND ?2")
    private static let deleteAttempts = Query("DELETE FROM penstock_attempt WHERE sequence = ?1")
    private static let deleteLog = Query("DELETE FROM penstock_log WHERE sequence = ?1")
}
