import PenstockCore

/// Putting many messages into a queue that has no room for all of them: a few statements, and not some for each message.
///
/// What becomes of a message is what would become of it if they came one by one.
enum OverflowBatch {
    /// Accepts messages that are ready at once, from the first one on.
    ///
    /// - Returns: the receipts of those that it has accepted. Each of the others is to be accepted by itself, as there may be something to
    ///   decide.
    static func accept(
        _ messages: [NewMessage], _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        guard let capacity = account.policy.capacity else { return [] }
        switch capacity.whenFull {
        case .fail:
            throw Overflow.refusal(account, capacity: capacity.count)
        case .wait, .dropNewest:
            let room = max(0, Int(try account.room(transaction.connection)))
            let fitting = Array(messages.prefix(room))
            var receipts =
                fitting.isEmpty
                ? [] : try Enqueue.acceptTogether(fitting, account, durability, in: transaction)
            if capacity.whenFull == .dropNewest {
                receipts += try drop(Array(messages.dropFirst(room)), account, durability, in: transaction)
            }
            return receipts
        case .dropOldest:
            var receipts: [Receipt] = []
            while receipts.count < messages.count {
                // No more than all that wait go at once, so none of those that come now does.
                let some = Array(messages.dropFirst(receipts.count).prefix(capacity.count))
                guard let accepted = try acceptDisplacing(some, account, durability, in: transaction) else { break }
                receipts += accepted
            }
            return receipts
        }
    }

    /// Writes messages into the log that the queue drops as they come.
    static func drop(
        _ messages: [NewMessage], _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        if messages.isEmpty { return [] }
        let sequences = try LogRows.write(messages, account, in: transaction)
        let connection = transaction.connection
        do {
            try connection.attempt {
                try connection.run(
                    insertArriving, .integer(sequences.lowerBound), .integer(sequences.upperBound),
                    .integer(transaction.now.microseconds))
            }
        } catch  where error.isContradiction {
            for sequence in sequences {
                try Line.record(sequence, account, .dropped, .dropNewest, attempt: 0, in: transaction)
            }
        }
        account.change.enqueuedTotal += Int64(messages.count)
        countDropped(messages.count, account)
        return sequences.map { Receipt(sequence: SequenceNumber($0), state: .dropped, durability: durability) }
    }

    /// Accepts messages, no more than the capacity, in place of the oldest that wait.
    ///
    /// - Returns: `nil`: nothing was changed, as one of those that would go is not plain.
    private static func acceptDisplacing(
        _ messages: [NewMessage], _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> [Receipt]? {
        if account.policy.groups != nil, messages.contains(where: { $0.group != nil }) { return nil }
        let excess = messages.count - max(0, Int(try account.room(transaction.connection)))
        guard let displaced = try excess > 0 ? displacePlain(excess, account, in: transaction) : [] else { return nil }
        var receipts = try Enqueue.acceptTogether(messages, account, durability, in: transaction)
        for (index, sequence) in zip(receipts.indices.suffix(displaced.count), displaced) {
            receipts[index].displaced = SequenceNumber(sequence)
        }
        return receipts
    }

    /// Drops the `count` oldest messages that wait if all of them are plain: ready, of one priority, with nothing to see to.
    ///
    /// - Returns: their numbers, the oldest first; `nil`: nothing was changed, as one of them is not plain.
    private static func displacePlain(
        _ count: Int, _ account: QueueAccount, in transaction: Transaction
    ) throws -> [Int64]? {
        let connection = transaction.connection
        if account.hasTurns { return nil }
        let priority = try connection.first(readPriorities, .integer(account.id)) { row -> Int64? in
            let (highest, lowest) = (row.optionalInteger(0), row.optionalInteger(1))
            return highest == lowest && row.optionalInteger(2) == nil ? highest : nil
        }
        guard let priority = priority ?? nil else { return nil }
        let oldest = try connection.all(
            selectOldest, .integer(account.id), .integer(priority), .integer(Int64(count))
        ) { row in
            // In the log as in the line, and nobody's lease.
            let isSound = row.optionalInteger(2) != nil && row.optionalInteger(3) == nil
            return (sequence: row.integer(0), isPlain: isSound && row.integer(1) == 0)
        }
        guard oldest.count == count, oldest.allSatisfy(\.isPlain), let first = oldest.first, let last = oldest.last
        else { return nil }
        let range = [account.id, priority, first.sequence, last.sequence].map { Value.integer($0) }
        do {
            try connection.attempt {
                try connection.run(
                    insertDisplaced, range[0], range[1], range[2], range[3], .integer(transaction.now.microseconds))
            }
        } catch  where error.isContradiction {
            // One of them has ended before, going by the table.
            return nil
        }
        try connection.run(deleteDisplaced, range[0], range[1], range[2], range[3])
        account.change.count(.ready, -Int64(count))
        countDropped(count, account)
        return oldest.map(\.sequence)
    }

    private static func countDropped(_ count: Int, _ account: QueueAccount) {
        account.change.count(.dropped, Int64(count))
        account.change.countEnd(.dropped, Int64(count))
    }

    private static let readPriorities = Query(
        """
        SELECT (SELECT priority FROM penstock_ready WHERE queue_id = ?1
                ORDER BY priority DESC, turn, sequence LIMIT 1),
            (SELECT priority FROM penstock_ready WHERE queue_id = ?1
                ORDER BY priority, turn DESC, sequence DESC LIMIT 1),
            (SELECT sequence FROM penstock_blocked WHERE queue_id = ?1 ORDER BY sequence LIMIT 1)
        """)
    private static let selectOldest = Query(
        """
        SELECT ready.sequence, marks,
            (SELECT log.sequence FROM penstock_log AS log WHERE log.sequence = ready.sequence
                AND log.queue_id + 0 = ready.queue_id AND log.priority = ready.priority AND log.turn = ready.turn),
            (SELECT lease.sequence FROM penstock_lease AS lease WHERE lease.sequence = ready.sequence)
        FROM penstock_ready AS ready WHERE queue_id = ?1 AND priority = ?2 AND turn = 0 ORDER BY ready.sequence LIMIT ?3
        """)
    private static let insertDisplaced = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'dropped', 'dropOldest', attempt, ?5 FROM penstock_ready
        WHERE queue_id = ?1 AND priority = ?2 AND turn = 0 AND sequence BETWEEN ?3 AND ?4
        """)
    private static let deleteDisplaced = Query(
        """
        DELETE FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND turn = 0 AND sequence BETWEEN ?3 AND ?4
        """)
    private static let insertArriving = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'dropped', 'dropNewest', 0, ?3 FROM penstock_log WHERE sequence BETWEEN ?1 AND ?2
        """)
}
