import PenstockCore

/// Accepting messages that end as they are accepted.
enum Appending {
    /// Messages beyond the retention's count that one call forgets besides as many as came.
    private static let arrearsMax = 64

    /// Carries out one call of ``MessageStore/append(_:to:unless:durability:)``.
    static func perform(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability,
        in transaction: Transaction
    ) throws -> [Receipt] {
        let account = try transaction.account(of: queue)
        try account.refuseDeleting(in: transaction)
        if let cursor, try Cursors.find(cursor, of: account.name, id: account.id, transaction.connection) != nil {
            throw PenstockError(
                .illegalTransition, "The log '\(queue)' has ended: it has the cursor '\(cursor)'. Use another log.")
        }
        if messages.isEmpty { return [] }
        let sequences = try LogRows.write(messages, account, in: transaction)
        try transaction.connection.run(
            insertOutcomes, .integer(sequences.lowerBound), .integer(sequences.upperBound),
            .integer(transaction.now.microseconds))
        account.change.enqueuedTotal += Int64(messages.count)
        account.change.doneTotal += Int64(messages.count)
        account.change.count(.done, Int64(messages.count))
        account.ring(messages: 0)
        if let count = account.policy.retention.count {
            // A log that is full forgets as much as comes, however large that is.
            transaction.bytesLeft += messages.reduce(0) { $0 + Int64($1.payload.count) }
            var look = RetentionLook(besideAppendTo: queue)
            try Pruning.forget(
                beyond: Retention(age: nil, count: count), of: account, limit: messages.count + arrearsMax, &look,
                in: transaction)
        }
        return sequences.map { Receipt(sequence: SequenceNumber($0), state: .done, durability: durability) }
    }

    private static let insertOutcomes = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'done', NULL, 0, ?3 FROM penstock_log WHERE sequence BETWEEN ?1 AND ?2
        """)
}
