import PenstockCore

/// Telling the ends of many tasks that are done at once to those that wait for them: a few statements for all of them. What is
/// out of the ordinary is left to ``Cascade``.
enum DoneTasks {
    /// How many that wait a server is asked to put in line before the transaction's time is looked at: some take several questions each.
    private static let serverMax = 100

    private static func countMax(in transaction: Transaction) -> Int {
        min(transaction.cascade.left, transaction.connection.isServer ? serverMax : .max)
    }

    /// Tells those that wait for these tasks, which have ended, all of them done. Where that is too much for one transaction, or it has
    /// no time for it, they are noted for ``Cascade``.
    static func tell(_ sequences: [Int64], in transaction: Transaction) throws {
        let list = Value.sequences(sequences)
        let limit = countMax(in: transaction)
        let hasTime = transaction.cascade.handledCount == 0 || !transaction.isOverdue
        let children = try transaction.connection.all(
            selectChildren, list, .integer(Int64(limit) + 1), read: Child.init)
        if children.isEmpty || hasTime && children.count <= limit { return try meet(list, children, in: transaction) }
        guard hasTime, transaction.connection.isServer, limit == serverMax, sequences.count > 1 else {
            for sequence in sequences { transaction.cascade.note(sequence) }
            return
        }
        // Those that wait for half of them may be few enough.
        let half = sequences.count / 2
        try tell(Array(sequences[..<half]), in: transaction)
        try tell(Array(sequences[half...]), in: transaction)
    }

    /// Tells those that wait for a task that it is done, from the one behind `after` on.
    ///
    /// - Returns: the last one that was told, when there are more.
    static func tell(_ sequence: Int64, after: Int64, in transaction: Transaction) throws -> Int64? {
        let limit = countMax(in: transaction)
        let children = try transaction.connection.all(
            selectChildrenInOrder, .integer(sequence), .integer(after), .integer(Int64(limit) + 1), read: Child.init)
        try meet(.sequences([sequence]), Array(children.prefix(limit)), in: transaction)
        return children.count > limit ? children[limit - 1].sequence : nil
    }

    /// A task whose dependency on one of those that are done is not met.
    private struct Child {
        var sequence: Int64
        /// Whether it was cancelled because of that one, most likely. It may wait again now, also for others.
        var hadFailed: Bool

        init(_ row: PreparedStatement) {
            sequence = row.integer(0)
            hadFailed = row.integer(1) != 0
        }
    }

    /// Writes down that the dependencies of these children are met, whatever their tasks are needed for: they are done. Lets those
    /// go on that wait for nothing else.
    private static func meet(_ list: Value, _ children: [Child], in transaction: Transaction) throws {
        transaction.cascade.handled(children.count)
        let sequences = Set(children.map(\.sequence)).sorted()
        guard let first = sequences.first, let last = sequences.last else { return }
        try transaction.connection.run(writeMet, list, .integer(first), .integer(last))
        var plain: [Int64: [Int64]] = [:]
        let hadFailed = Set(children.filter(\.hadFailed).map(\.sequence))
        var others = hadFailed.sorted()
        let wanted = hadFailed.isEmpty ? sequences : sequences.filter { !hadFailed.contains($0) }
        _ = try transaction.connection.all(selectFree, .sequences(wanted)) { row in
            if row.integer(2) != 0 {
                plain[row.integer(1), default: []].append(row.integer(0))
            } else {
                others.append(row.integer(0))
            }
        }
        for (queueID, children) in plain { try move(children, of: queueID, in: transaction) }
        for child in others { try Cascade.look(at: child, in: transaction) }
    }

    /// Puts tasks of one queue in line that are due at once.
    private static func move(_ children: [Int64], of queueID: Int64, in transaction: Transaction) throws {
        // In a queue that is or was shared fairly each gets its turn.
        guard children.count > 1, let account = try transaction.account(id: queueID), !account.hasTurns else {
            return try lookAtEach(children, in: transaction)
        }
        let list = Value.sequences(children)
        do {
            try transaction.connection.attempt {
                try transaction.connection.run(
                    insertReady, .integer(queueID), list, .integer(transaction.now.microseconds))
            }
        } catch  where error.isContradiction {
            // One of them is in line already, going by the table. Each by itself finds out which.
            return try lookAtEach(children, in: transaction)
        }
        try transaction.connection.run(deletePending, .integer(queueID), list)
        // They were accepted whenever.
        account.change.lineStart.entered(at: .first)
        account.change.count(.pending, -Int64(children.count))
        account.change.count(.ready, Int64(children.count))
        account.ring(messages: children.count)
    }

    private static func lookAtEach(_ children: [Int64], in transaction: Transaction) throws {
        for child in children { try Cascade.look(at: child, in: transaction) }
    }

    // By IN, here and below, and not by a join with the list: for a table that was small when somebody ran ANALYZE, SQLite makes a
    // Bloom filter of all its rows each time.
    private static let selectChildren = Query(
        """
        SELECT child, state = 'failed' FROM penstock_dependency AS dependency
        WHERE parent IN (SELECT value FROM json_each(?1)) AND dependency.child > 0 AND state <> 'met' LIMIT ?2
        """)
    private static let selectChildrenInOrder = Query(
        """
        SELECT child, state = 'failed' FROM penstock_dependency
        WHERE parent = ?1 AND child > ?2 AND state <> 'met' ORDER BY child LIMIT ?3
        """)
    private static let writeMet = Query(
        """
        UPDATE penstock_dependency SET state = 'met'
        WHERE parent IN (SELECT value FROM json_each(?1)) AND child BETWEEN ?2 AND ?3 AND state <> 'met'
        """)
    // Those that wait for nothing more, and whether each only has to be moved: it waits in line, has no mark but that of a task or an expiry,
    // and is due at once.
    private static let selectFree = Query(
        """
        SELECT wanted.value, pending.queue_id,
            ifnull(pending.marks & ~\(Marks.expiry.rawValue) = \(Marks.task.rawValue) AND task.due_at IS NULL AND task.delay IS NULL, FALSE)
        FROM json_each(?1) AS wanted
        LEFT JOIN penstock_log AS log ON log.sequence = wanted.value
        LEFT JOIN penstock_pending AS pending
            ON pending.queue_id = log.queue_id AND pending.sequence = log.sequence
        LEFT JOIN penstock_task AS task ON task.sequence = wanted.value
        WHERE NOT EXISTS (SELECT 1 FROM penstock_dependency AS dependency
            WHERE dependency.child = wanted.value AND dependency.state IN ('open', 'failed'))
        """)
    private static let insertReady = Query(
        """
        INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
        SELECT queue_id, priority, 0, sequence, attempt, forgiven, marks, ?3 FROM penstock_pending
        WHERE queue_id = ?1 AND sequence IN (SELECT value FROM json_each(?2))
        """)
    private static let deletePending = Query(
        "DELETE FROM penstock_pending WHERE queue_id = ?1 AND sequence IN (SELECT value FROM json_each(?2))")
}
