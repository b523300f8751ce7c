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
        /// Behind what is kept in the queues that were looked at to their ends.
        var kept: [RetentionLook.Place] = []
    }

    /// One step: forgets up to `request.limit` messages, from where another one has stopped.
    ///
    /// - Parameters:
    ///   - due: the queues to look at where the request names none: those that ``Prunable`` has found, each of which costs a server
    ///     several ways within the transaction.
    ///   - known: where to begin in some of them, behind what is kept.
    static func perform(
        _ request: PruneRequest, of due: [QueueName], besides known: [QueueName: RetentionLook.Place],
        from place: RetentionLook.Place?, in transaction: Transaction
    ) throws -> Step {
        var names: [QueueName]
        if let queue = request.queue {
            try transaction.account(of: queue).refuseArriving(in: transaction)
            names = [queue]
        } else {
            // Some may have gone since.
            names = try due.filter { try transaction.exists($0) }
        }
        if let place {
            names = Array(names.drop { $0 < place.queue })
        } else {
            if try !endExpired(of: names, in: transaction) { return Step(pruned: Pruned(hasMore: true)) }
            // What has expired may have brought tasks of other queues to their end.
            if request.queue == nil { names = Set(names).union(transaction.queuesWithEnds).sorted() }
        }
        let limit = min(request.limit, stepMax)
        var left = limit
        var hasMore = false
        guard let first = names.first else { return Step(pruned: Pruned()) }
        var look = RetentionLook(at: place ?? known[first] ?? RetentionLook.Place(queue: first))
        var kept: [RetentionLook.Place] = []
        for name in names where !hasMore {
            let account = try transaction.account(of: name)
            if try account.isArriving(in: transaction) { continue }
            let retention = request.retention ?? account.policy.retention
            look.begin(name, from: known[name])
            if try UniqueKeys.forgetElapsed(of: account, limit: stepMax, in: transaction) { hasMore = true }
            let pruned = try forget(beyond: retention, of: account, limit: left, &look, in: transaction)
            if pruned.hasMore { hasMore = true }
            left -= pruned.messages
            if look.isSpent, !hasMore {
                return Step(pruned: Pruned(messages: limit - left), place: look.place, kept: kept)
            }
            if !pruned.hasMore, !look.isSpent, let place = look.place.kept(at: transaction.boot) { kept.append(place) }
        }
        return Step(pruned: Pruned(messages: limit - left, hasMore: hasMore), kept: kept)
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

    /// Forgets up to `limit` messages of a queue that are beyond `retention`, as many as the transaction may still forget, and counts for
    /// each cursor which of them it had not come to.
    @discardableResult
    static func forget(
        beyond retention: Retention, of account: QueueAccount, limit: Int, _ look: inout RetentionLook,
        in transaction: Transaction
    ) throws -> Pruned {
        let traces = try Traces(transaction.connection)
        // Where the transaction may forget no more it is looked whether there is more.
        let limit = transaction.bytesLeft > 0 ? limit : 0
        let outlived: [LineEntry]
        var bytes: [Int64: Int64] = [:]
        // Without workflows, as most files are, nothing is asked of each message.
        if traces.hasTasks {
            outlived = try look.outlived(account, retention, limit: limit + 1, in: transaction)
        } else {
            let found = try Self.outlived(account, retention, limit: limit + 1, in: transaction)
            outlived = found.entries
            bytes = found.bytes
        }
        let first = outlived.prefix(limit)
        let candidates = MessageSet(inOrder: first.map(\.sequence))
        if traces.hasTasks || transaction.connection.isServer && first.count > 1 {
            bytes = try Traces.payloadBytes(of: candidates, transaction.connection)
        }
        try traces.addOthers(of: candidates, to: &bytes, transaction.connection)
        let forgotten = first.prefix { transaction.take(bytes: bytes[$0.sequence] ?? 0) }
        if forgotten.isEmpty { return Pruned(messages: 0, hasMore: !outlived.isEmpty) }
        let freed = try Groups.letGo(forgotten, account, in: transaction)
        let sequences = forgotten.map(\.sequence)
        let set = MessageSet(inOrder: sequences)
        if traces.hasTasks {
            // A task that was told nothing of a dead letter, as that is held, may wait for it when another one is redriven.
            let dead = MessageSet(inOrder: forgotten.filter { $0.state == .dead }.map(\.sequence))
            for task in try TaskRows.tasks(among: dead, transaction.connection) { transaction.cascade.note(task) }
        }
        try transaction.connection.run(deleteOutcomes, on: set, .integer(account.id))
        try traces.forget(set, transaction.connection)
        for group in freed { try Groups.permitNext(of: group, in: transaction) }
        for entry in forgotten { account.change.count(entry.state, -1) }
        try Cursors.count(forgotten: sequences, account, in: transaction)
        return Pruned(messages: forgotten.count, hasMore: outlived.count > forgotten.count)
    }

    /// How many messages the queue's retention counts.
    static func keptCount(_ account: QueueAccount, in transaction: Transaction) throws -> Int64 {
        let kept = try transaction.connection.integer(readKept, .integer(account.id)) ?? 0
        return kept.clamped(to: StoredRange.counts) + account.change.kept
    }

    /// Up to `limit` messages of a queue that are beyond its retention, in a file without tasks; fewer only when there are no
    /// more. With them the bytes of their payloads, but from a server.
    private static func outlived(
        _ account: QueueAccount, _ retention: Retention, limit: Int, in transaction: Transaction
    ) throws -> (entries: [LineEntry], bytes: [Int64: Int64]) {
        let connection = transaction.connection
        let id = Value.integer(account.id)
        var bytes: [Int64: Int64] = [:]
        func read(_ row: PreparedStatement) -> LineEntry {
            bytes[row.integer(0)] = row.integer(2)
            return LineEntry(ended: row.integer(0), row.text(1).flatMap(MessageState.init) ?? .done, account)
        }
        var found: [LineEntry] = []
        if let count = retention.count {
            let excess = try keptCount(account, in: transaction) - Int64(count)
            if excess > 0 {
                found = try connection.all(selectFirst, id, .integer(min(excess, Int64(limit))), read: read)
            }
        }
        // Of one kind they are in order: the way of each append to a log that is full.
        if retention.age == nil, retention.deadAge == nil { return (found, bytes) }
        for (age, query) in [(retention.age, selectEnded), (retention.deadAge, selectDied)] {
            guard let age else { continue }
            let moment = (transaction.now - age).microseconds
            found += try connection.all(query, id, .integer(moment), .integer(Int64(limit)), read: read)
        }
        return (together(found, limit: limit), bytes)
    }

    /// Up to `limit` messages of those that were found, some of them more than once, in order.
    static func together(_ found: [LineEntry], limit: Int) -> [LineEntry] {
        let each = Dictionary(found.map { ($0.sequence, $0) }) { first, _ in first }
        return Array(each.values.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    private static let readKept = Query("SELECT kept FROM penstock_depth WHERE queue_id = ?1")
    private static let selectFirst = select("state <> 'dead' ORDER BY sequence LIMIT ?2")
    private static let selectEnded = select(
        "state <> 'dead' AND finished_at <= ?2 ORDER BY finished_at LIMIT ?3")
    private static let selectDied = select("state = 'dead' AND finished_at <= ?2 ORDER BY finished_at LIMIT ?3")

    /// With the bytes of each payload. A server that takes the log to be small would go through all of it for each row, and is asked for
    /// those of all rows at once.
    private static func select(_ rows: String) -> Query {
        func sql(_ bytes: String) -> String {
            "SELECT sequence, state, \(bytes) FROM penstock_outcome WHERE queue_id = ?1 AND \(rows)"
        }
        let bytes = "(SELECT length(payload) FROM penstock_log AS log WHERE log.sequence = penstock_outcome.sequence)"
        return Query(sql(bytes), server: sql("0"))
    }
    private static let deleteOutcomes = MessageSetQuery {
        "DELETE FROM penstock_outcome WHERE queue_id = ?3 AND sequence \($0)"
    }
}

extension LineEntry {
    /// One that is to be forgotten, of which nothing counts but how it has ended.
    init(ended sequence: Int64, _ state: MessageState, _ account: QueueAccount) {
        self.init(
            sequence: sequence, account: account, state: state, priority: 0, attempt: 0, forgiven: 0, marks: [])
    }
}
