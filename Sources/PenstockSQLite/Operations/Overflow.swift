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
        if let oldest {
            if let entry = try Line.locate(oldest.sequence, in: transaction), entry.state == .ready { return entry }
            try Quarantine.setAside(
                .ready, oldest.sequence, of: account.id, because: Quarantine.Reason.notInLog, in: transaction)
            return try oldestWaiting(account, in: transaction)
        }
        guard let scheduled = try connection.first(firstDue, .integer(account.id), read: { $0.integer(0) }) else {
            return nil
        }
        if let entry = try Line.locate(scheduled, in: transaction), entry.state == .scheduled { return entry }
        try Quarantine.setAside(
            .scheduled, scheduled, of: account.id, because: Quarantine.Reason.notInLog, in: transaction)
        return try oldestWaiting(account, in: transaction)
    }

    private static let firstBelow = Query(
        """
        SELECT sequence, priority FROM penstock_ready WHERE queue_id = ?1 AND priority < ?2
        ORDER BY priority DESC, sequence LIMIT 1
        """)
    private static let firstDue = Query(
        "SELECT sequence FROM penstock_scheduled WHERE queue_id = ?1 ORDER BY due_at, sequence LIMIT 1")
}
