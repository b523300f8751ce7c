import PenstockCore

/// Removing queues, in steps, so that other writers get their turn in between.
///
/// From the first step until the queue is gone its row says `deleting`, and nothing is accepted, claimed or put back in
/// line. So no message can come between two steps and be deleted with the others. A deletion that has begun ends by
/// being finished, by this process or, after its death, by another call.
enum Deleting {
    /// Rows of keys and groups that a step deletes at most, once no message is left.
    private static let rowsMax = 10_000

    /// What a step has come to.
    enum Step: Sendable {
        case goesOn
        case isGone
        /// So many messages wait or run, and nobody asked for force. The queue is no longer being deleted.
        case isRefused(openCount: Int64)
    }

    /// Begins to delete a queue: it takes nothing and gives nothing from here on.
    static func begin(_ queue: QueueName, force: Bool, in transaction: Transaction) throws {
        let account = try transaction.account(of: queue)
        if !force {
            try account.refuseArriving(in: transaction)
        } else if account.isDeleting {
            // The move by which it comes has no end then: of its messages rows would come that tell of no queue.
            try transaction.connection.run(breakMoveOff, .integer(account.id))
        }
        if !force, try account.hasOpen(in: transaction) {
            throw refusal(
                queue, openCount: try countOpen(account, in: transaction), isBegun: account.isDeleting)
        }
        try setDeleting(account, true, in: transaction)
        // Producers that wait for room and workers that wait for messages learn of it at once.
        transaction.ringAll(queue)
        try transaction.queuesChanged()
    }

    /// Deletes up to `limit` messages of a queue, as many as the transaction may still forget, and, when none is left, the queue.
    ///
    /// Without `force` no message goes that waits or runs. There is none after ``begin(_:force:in:)``, unless a program
    /// has written it that does not know of the flag. Then this step deletes nothing, and the deletion is given up.
    static func step(_ queue: QueueName, force: Bool, limit: Int, in transaction: Transaction) throws -> Step {
        let account = try transaction.account(of: queue)
        let connection = transaction.connection
        if !force, try account.hasOpen(in: transaction) {
            let openCount = try countOpen(account, in: transaction)
            try setDeleting(account, false, in: transaction)
            transaction.ringAll(queue)
            try transaction.queuesChanged()
            return .isRefused(openCount: openCount)
        }
        let found = try connection.all(
            selectLog, .integer(account.id), .integer(Int64(limit)),
            read: { (sequence: $0.integer(0), priority: $0.integer(1), bytes: $0.integer(2)) })
        let traces = try Traces(connection)
        var others: [Int64: Int64] = [:]
        try traces.addOthers(of: MessageSet(inOrder: found.map(\.sequence)), to: &others, connection)
        let messages = found.prefix { transaction.take(bytes: $0.bytes + (others[$0.sequence] ?? 0)) }
        let priorities = Set(messages.map(\.priority))
        if let first = messages.first?.sequence, let last = messages.last?.sequence {
            try takeOutOfLine(first...last, priorities, account, in: transaction)
            try forget(traces, of: MessageSet(inOrder: messages.map(\.sequence)), in: transaction)
        }
        guard found.count < limit, messages.count == found.count,
            try deleteKeysAndGroups(of: account, in: transaction)
        else { return .goesOn }
        // What is in line and not in the log, which only a change by hand leaves.
        for query in leftovers { try connection.run(query, .integer(account.id)) }
        try transaction.writeDown()
        try connection.run(deleteQueue, .integer(account.id))
        try transaction.queuesChanged()
        transaction.ringAll(queue)
        return .isGone
    }

    /// Removes all messages of a queue between two from the tables of the line, and counts them out of its depths. Some may have no
    /// place there, which `penstock doctor` reports.
    private static func takeOutOfLine(
        _ range: ClosedRange<Int64>, _ priorities: Set<Int64>, _ account: QueueAccount, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        let (id, first, last) = (
            Value.integer(account.id), Value.integer(range.lowerBound), Value.integer(range.upperBound)
        )
        func takenCount() throws -> Int64 { Int64(try connection.changesCount()) }
        for (state, query) in lines {
            try connection.run(query, id, first, last)
            account.change.count(state, -(try takenCount()))
        }
        // What is ready is found by its place: the table has no index by the number alone, but for what has a turn.
        for priority in priorities {
            try connection.run(deleteReady, id, first, last, .integer(priority))
            account.change.count(.ready, -(try takenCount()))
        }
        if account.hasTurns {
            try connection.run(deleteReadyWithTurn, id, first, last)
            account.change.count(.ready, -(try takenCount()))
        }
        try connection.run(deleteKeys, id, first, last)
        try connection.run(deleteExpiries, id, first, last)
    }

    /// Removes what the queue knows of keys and groups, of which there may be millions where it has few messages, or none: up to
    /// ``rowsMax`` rows.
    ///
    /// - Returns: whether none is left.
    private static func deleteKeysAndGroups(of account: QueueAccount, in transaction: Transaction) throws -> Bool {
        var left = rowsMax
        for query in keysAndGroups {
            var count = 0
            repeat {
                try transaction.connection.run(query, .integer(account.id), .integer(Int64(left)))
                count = try transaction.connection.changesCount()
                left -= count
                if left <= 0 { return false }
            } while count > 0
        }
        return true
    }

    /// Removes what messages have left behind. Tasks that wait for one of these are told that it is gone.
    private static func forget(_ traces: Traces, of set: MessageSet, in transaction: Transaction) throws {
        if traces.hasTasks {
            for task in try TaskRows.tasks(among: set, transaction.connection) { transaction.cascade.note(task) }
        }
        try traces.forget(set, transaction.connection)
    }

    /// What is said when messages wait or run and nobody asked for force.
    ///
    /// - Parameter isBegun: whether a deletion with force has begun, after which nothing is worked or cancelled there.
    static func refusal(_ queue: QueueName, openCount: Int64, isBegun: Bool = false) -> PenstockError {
        let what = openCount == 1 ? "1 message that waits or runs" : "\(openCount) messages that wait or run"
        if isBegun {
            return PenstockError(
                .illegalTransition,
                "The queue '\(queue)' is being deleted, and has \(what); wait until it is gone, or finish it with "
                    + "`penstock queue delete --force`.")
        }
        return PenstockError(
            .illegalTransition,
            "The queue '\(queue)' has \(what); work or cancel what is there, or delete it with force (`--force`).")
    }

    private static func countOpen(_ account: QueueAccount, in transaction: Transaction) throws -> Int64 {
        try transaction.connection.integer(selectOpenCount, .integer(account.id)) ?? 0
    }

    private static func setDeleting(
        _ account: QueueAccount, _ isDeleting: Bool, in transaction: Transaction
    ) throws {
        try transaction.connection.run(writeDeleting, .integer(account.id), .integer(isDeleting ? 1 : 0))
    }

    private static let breakMoveOff = Query(
        """
        UPDATE penstock_arrival SET place = -1
        WHERE finished_at IS NULL AND move_id IN (SELECT move_id FROM penstock_arriving WHERE queue_id = ?1)
        """)
    private static let selectOpenCount = Query("SELECT \(QuarantineSource.openCount)")
    private static let writeDeleting = Query("UPDATE penstock_queue SET deleting = ?2 WHERE id = ?1")
    private static let selectLog = Query(
        "SELECT sequence, priority, length(payload) FROM penstock_log WHERE queue_id = ?1 ORDER BY sequence LIMIT ?2",
        // In an order that only the index of the queue's messages has. By the order of numbers alone the planner goes through the log,
        // past all messages of other queues.
        server: """
            SELECT sequence, priority, length(payload) FROM penstock_log WHERE (queue_id, sequence) >= (?1, 0) AND queue_id <= ?1
            ORDER BY queue_id, sequence LIMIT ?2
            """)
    /// What takes messages out of the tables of the line, but for those that are ready.
    private static let lines: [(state: MessageState, delete: Query)] = [
        (.pending, deletion(from: "pending")), (.scheduled, deletionByNumber(from: "scheduled")),
        (.blocked, deletion(from: "blocked")), (.leased, deletionByNumber(from: "lease")),
        (.dead, deletion(from: "outcome INDEXED BY penstock_outcome_dead", "AND state = 'dead'")),
        // No dead letter is left there.
        (.done, deletion(from: "outcome")),
    ]
    private static let deleteReady = deletion(from: "ready", "AND priority = ?4 AND turn = 0")
    private static let deleteReadyWithTurn = deletion(
        from: "ready INDEXED BY penstock_ready_sequence", "AND turn <> 0")
    private static let deleteKeys = deletion(
        from: "unique",
        """
        AND unique_key IN (SELECT unique_key FROM penstock_log
            WHERE queue_id = ?1 AND sequence BETWEEN ?2 AND ?3 AND unique_key IS NOT NULL)
        """)
    private static let deleteExpiries = deletionByNumber(from: "expiry")

    private static func deletion(from table: String, _ condition: String = "") -> Query {
        Query("DELETE FROM penstock_\(table) WHERE queue_id = ?1 AND sequence BETWEEN ?2 AND ?3 \(condition)")
    }

    /// From a table whose key is the number alone. By the index that begins with the queue each step would go past all that is left of it.
    private static func deletionByNumber(from table: String) -> Query {
        Query("DELETE FROM penstock_\(table) WHERE +queue_id = ?1 AND sequence BETWEEN ?2 AND ?3")
    }
    // Last the groups that are to be looked at: to resume one adds it.
    private static let keysAndGroups: [Query] =
        [deleteShares]
        + [
            ("unique_period", "unique_key"), ("permit", "group_key, sequence"), ("group_rate", "group_key"),
            ("weight", "group_key"), ("group_pause", "group_key"), ("regroup", "group_key"),
        ].map { someRows(of: $0, by: $1) }
    /// Of one priority: for several SQLite takes the index of turns, and goes past all that is left of a priority for each row.
    private static let deleteShares = Query(
        """
        DELETE FROM penstock_share WHERE queue_id = ?1 AND priority = (\(lowestShare)) AND group_key IN (
            SELECT group_key FROM penstock_share WHERE queue_id = ?1 AND priority = (\(lowestShare)) LIMIT ?2)
        """)
    private static let lowestShare = "SELECT min(priority) FROM penstock_share WHERE queue_id = ?1"

    private static func someRows(of table: String, by key: String) -> Query {
        Query(
            """
            DELETE FROM penstock_\(table) WHERE queue_id = ?1 AND (\(key)) IN (
                SELECT \(key) FROM penstock_\(table) WHERE queue_id = ?1 LIMIT ?2)
            """)
    }

    private static let leftovers = [
        "ready", "scheduled", "pending", "blocked", "lease", "outcome", "unique", "expiry", "rate", "fair",
    ].map { table in Query("DELETE FROM penstock_\(table) WHERE queue_id = ?1") }
    private static let deleteQueue = Query("DELETE FROM penstock_queue WHERE id = ?1")
}
