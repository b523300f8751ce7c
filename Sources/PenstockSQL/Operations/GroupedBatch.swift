import PenstockCore

/// Putting many messages in line at once of which some have a group: a few statements for all of them, and one look for each group.
enum GroupedBatch {
    /// Which of the messages are ready as they come: those without a group, and those that there is a permit for.
    static func areReady(
        _ messages: [NewMessage], _ account: QueueAccount, in transaction: Transaction
    ) throws -> [Bool] {
        var free: [[UInt8]: Int64] = [:]
        return try messages.map { message in
            guard let key = message.group else { return true }
            // By its bytes, as in the tables: Swift takes two ways to write an accent for one text.
            let bytes = Array(key.utf8)
            let left = try free[bytes] ?? room(of: Group(account: account, key: key), in: transaction)
            free[bytes] = max(0, left - 1)
            return left > 0
        }
    }

    /// Puts messages in line that are in the log and due at once.
    ///
    /// - Returns: those that are blocked.
    static func place(
        _ messages: [NewMessage], _ areReady: [Bool], _ sequences: ClosedRange<Int64>, in transaction: Transaction
    ) throws -> Set<Int64> {
        var permitted: [Int64] = []
        var blocked: [Int64] = []
        for (index, sequence) in sequences.enumerated() where messages[index].group != nil {
            if areReady[index] { permitted.append(sequence) } else { blocked.append(sequence) }
        }
        let connection = transaction.connection
        if permitted.count + blocked.count < messages.count {
            try connection.run(insertOthers, .integer(sequences.lowerBound), .integer(sequences.upperBound))
        }
        if !permitted.isEmpty {
            let list = Value.sequences(permitted)
            for query in [insertReady, insertPermits] { try connection.run(query, list) }
        }
        if !blocked.isEmpty { try connection.run(insertBlocked, .sequences(blocked)) }
        return Set(blocked)
    }

    /// How many messages of a group may be in line at once, of those that come now.
    private static func room(of group: Group, in transaction: Transaction) throws -> Int64 {
        let free = try Permits.free(of: group, transaction.connection)
        guard free > 0, try GroupRates.isOpen(group, in: transaction) else { return 0 }
        return group.account.policy.ratePerKey == nil ? free : 1
    }

    private static let isListed = "sequence IN (SELECT value FROM json_each(?1))"
    private static let insertOthers = Enqueue.insertReady(where: "sequence BETWEEN ?1 AND ?2 AND group_key IS NULL")
    private static let insertReady = Enqueue.insertReady(where: isListed)
    private static let insertPermits = Query(
        """
        INSERT OR IGNORE INTO penstock_permit (queue_id, group_key, sequence)
        SELECT queue_id, group_key, sequence FROM penstock_log WHERE \(isListed)
        """)
    private static let insertBlocked = Query(
        """
        INSERT INTO penstock_blocked (queue_id, group_key, priority, sequence, attempt, forgiven, marks)
        SELECT queue_id, group_key, priority, sequence, 0, 0, \(Marks.acceptedSQL) FROM penstock_log WHERE \(isListed)
        """)
}
