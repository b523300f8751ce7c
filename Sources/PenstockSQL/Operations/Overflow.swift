import PenstockCore

/// Which message a full queue drops.
enum Overflow {
    /// What the caller is told whose messages a full queue refuses.
    static func refusal(_ account: QueueAccount, capacity: Int) -> PenstockError {
        PenstockError(
            .queueFull,
            "The queue '\(account.name)' is full: its capacity is \(capacity); try again when some messages are worked."
        )
    }

    /// Drops the oldest message that waits, if there is one, and says which one it was.
    static func displaceOldest(_ account: QueueAccount, in transaction: Transaction) throws -> SequenceNumber? {
        guard let oldest = try oldestWaiting(account, in: transaction) else { return nil }
        if try Line.move(oldest, by: .displaced, in: transaction) {
            // What waited for its end, however it ends, comes in line before anybody asks for room again.
            try Cascade.perform(in: transaction)
        }
        return SequenceNumber(oldest.sequence)
    }

    /// The message that `dropOldest` drops: the ready or blocked one with the lowest sequence number or, when there is none, the
    /// scheduled one that is due first.
    ///
    /// Ready messages lie by priority and then by sequence, so each priority's oldest is one probe; most queues know
    /// one priority only.
    static func oldestWaiting(_ account: QueueAccount, in transaction: Transaction) throws -> LineEntry? {
        let connection = transaction.connection
        var oldest: (sequence: Int64, priority: Int64)?
        var above = Int64(Limits.priorityRange.upperBound) + 1
        while let next = try connection.first(
            firstBelow, .integer(account.id), .integer(above),
            read: { (sequence: $0.integer(0), priority: $0.integer(1), turn: $0.integer(2)) })
        {
            // Those without a turn come before those with one.
            if next.turn == 0, oldest.map({ next.sequence < $0.sequence }) ?? true {
                oldest = (next.sequence, next.priority)
            }
            above = next.priority
        }
        // Those with turns do not lie in the order of the log, and have an index that does.
        if account.hasTurns,
            let fair = try connection.first(
                firstWithTurn, .integer(account.id), read: { ($0.integer(0), $0.integer(1)) }),
            oldest.map({ fair.0 < $0.sequence }) ?? true
        {
            oldest = fair
        }
        if let blocked = try connection.integer(firstBlocked, .integer(account.id)),
            oldest.map({ blocked < $0.sequence }) ?? true
        {
            return try locate(blocked, .blocked, by: .blocked, account, in: transaction)
        }
        if let oldest { return try locate(oldest.sequence, .ready, by: .ready, account, in: transaction) }
        guard let scheduled = try connection.integer(firstDue, .integer(account.id)) else { return nil }
        return try locate(scheduled, .scheduled, by: .scheduled, account, in: transaction)
    }

    /// The message that is in `state` by its row in `source`. A row that contradicts the log is set aside, and another message is
    /// looked for.
    private static func locate(
        _ sequence: Int64, _ state: MessageState, by source: QuarantineSource, _ account: QueueAccount,
        in transaction: Transaction
    ) throws -> LineEntry? {
        if let entry = try Line.locate(sequence, in: transaction), entry.state == state { return entry }
        try Quarantine.setAside(
            source, sequence, of: account.id, because: Quarantine.Reason.notInLog, in: transaction)
        return try oldestWaiting(account, in: transaction)
    }

    private static let firstBelow = Query(
        """
        SELECT sequence, priority, turn FROM penstock_ready WHERE queue_id = ?1 AND priority < ?2
        ORDER BY priority DESC, turn, sequence LIMIT 1
        """)
    private static let firstWithTurn = Query(
        """
        SELECT sequence, priority FROM penstock_ready INDEXED BY penstock_ready_sequence
        WHERE queue_id = ?1 AND turn <> 0 ORDER BY sequence LIMIT 1
        """)
    private static let firstBlocked = Query(
        "SELECT sequence FROM penstock_blocked WHERE queue_id = ?1 ORDER BY sequence LIMIT 1")
    private static let firstDue = Query(
        "SELECT sequence FROM penstock_scheduled WHERE queue_id = ?1 ORDER BY due_at, sequence LIMIT 1")
}
