import PenstockCore

/// Finishing messages by the run.
///
/// What workers hand in is mostly a run of leases, one after the other in the table, whose messages are all done. Two
/// statements move such a run, where each message by itself takes three.
enum DoneRun {
    /// Finishes the run of at least two messages that `settlements` begins with.
    ///
    /// It ends before a verdict other than `done`, a lease that is lost, a message that holds a unique key, and a
    /// message of another queue.
    ///
    /// - Returns: how many messages it finished; 0 when there is no such run.
    static func finish(_ settlements: ArraySlice<Settlement>, in transaction: Transaction) throws -> Int {
        guard settlements.count > 1, let first = settlements.first?.lease.sequence.rawValue else { return 0 }
        let connection = transaction.connection
        let statement = try connection.statement(readLeases)
        statement.bind(first, at: 1)
        var run = (count: 0, last: first, queueID: Int64?.none)
        do {
            defer { statement.reset() }
            for settlement in settlements {
                guard case .done = settlement.verdict, try statement.step(),
                    statement.integer(0) == settlement.lease.sequence.rawValue,
                    statement.integer(1) == settlement.lease.token.rawValue,
                    run.queueID == nil || run.queueID == statement.integer(2), statement.integer(3) == 0
                else { break }
                run = (run.count + 1, statement.integer(0), statement.integer(2))
            }
        }
        guard run.count > 1, let queueID = run.queueID else { return 0 }

        // Between the first and the last there are no leases but those of the run.
        try connection.run(insertOutcomes) { row in
            row.bind(first, at: 1)
            row.bind(run.last, at: 2)
            row.bind(transaction.now.microseconds, at: 3)
        }
        try connection.run(deleteLeases) { row in
            row.bind(first, at: 1)
            row.bind(run.last, at: 2)
        }
        let account = try transaction.account(id: queueID)
        account.change.count(.leased, -Int64(run.count))
        account.change.count(.done, Int64(run.count))
        account.change.doneTotal += Int64(run.count)
        return run.count
    }

    private static let readLeases = Query(
        "SELECT sequence, token, queue_id, keyed FROM penstock_lease WHERE sequence >= ?1 ORDER BY sequence")
    private static let insertOutcomes = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'done', NULL, attempt, ?3 FROM penstock_lease WHERE sequence BETWEEN ?1 AND ?2
        """)
    private static let deleteLeases = Query("DELETE FROM penstock_lease WHERE sequence BETWEEN ?1 AND ?2")
}
