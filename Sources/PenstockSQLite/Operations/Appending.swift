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
        if let cursor, try Cursors.find(cursor, account, in: transaction) != nil {
            throw PenstockError(
                .illegalTransition, "The log '\(queue)' has ended: it has the cursor '\(cursor)'. Use another log.")
        }
        let receipts = try messages.map { message in
            let sequence = try Enqueue.writeLog(message, account, in: transaction)
            try Line.record(sequence, account, .done, nil, attempt: 0, in: transaction)
            return Receipt(sequence: SequenceNumber(sequence), state: .done, durability: durability)
        }
        account.change.enqueuedTotal += Int64(messages.count)
        account.change.doneTotal += Int64(messages.count)
        account.change.count(.done, Int64(messages.count))
        account.ring(messages: 0)
        if let count = account.policy.retention.count {
            try Pruning.forget(
                beyond: Retention(age: nil, count: count), of: account, limit: messages.count + arrearsMax,
                in: transaction)
        }
        return receipts
    }
}
