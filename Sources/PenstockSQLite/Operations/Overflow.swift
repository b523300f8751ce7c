import PenstockCore

/// Which message a full queue drops.
enum Overflow {
    /// The message that `dropOldest` drops: the ready one with the lowest sequence number or, when none is ready, the
    /// scheduled one that is due first.
    ///
    /// Ready messages lie by priority and then by sequence, so each priority's oldest is one probe; most queues know
    /// one priority only.
    static func oldestWaiting(_ account: QueueAccount, in transaction: Transaction) throws -> LineEntry? {
        let connection = transaction.connection
        var oldest: (sequence: Int64, priority: Int64)?
        var above = Int64(Limits.priorityRange.upperBound) + 1
        while let next = try connection.first(
            firstBelow, .integer(account.id), .integer(above), read: { ($0.integer(0), $0.integer(1)) })
        {
            if oldest.map({ next.0 < $0.sequence }) ?? true { oldest = next }
            above = next.1
        }
        if let oldest { return try Line.locate(oldest.sequence, in: transaction) }
        let scheduled = try connection.first(firstDue, .integer(account.id)) { $0.integer(0) }
        return try scheduled.flatMap { try Line.locate($0, in: transaction) }
    }

    private static let firstBelow = Query(
        """
        SELECT sequence, priority FROM penstock_ready WHERE queue_id = ?1 AND priority < ?2
        ORDER BY priority DESC, sequence LIMIT 1
        """)
    private static let firstDue = Query(
        "SELECT sequence FROM penstock_scheduled WHERE queue_id = ?1 ORDER BY due_at, sequence LIMIT 1")
}
