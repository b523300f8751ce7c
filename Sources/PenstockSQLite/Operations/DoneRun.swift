import PenstockCore

/// Finishing messages by the run.
///
/// What workers hand in is mostly a run of leases, one after the other in the table, whose messages are all done. Two
/// statements move such a run, where each message by itself takes three.
enum DoneRun {
    /// Leases of other queues that lie within one run at most. Where there are more, going through them would cost more
    /// than the run saves.
    private static let passedMax = 1000

    /// Finishes the run of at least two messages that `settlements` begins with.
    ///
    /// It ends before a verdict other than `done`, a lease that is lost, a message that holds a unique key, and a
    /// message of another queue. Leases of other queues may lie in between.
    ///
    /// - Returns: how many messages it finished; 0 when there is no such run.
    static func finish(_ settlements: ArraySlice<Settlement>, in transaction: Transaction) throws -> Int {
        guard settlements.count > 1, let first = settlements.first?.lease.sequence.rawValue,
            let run = try run(settlements, from: first, in: transaction.connection), run.count > 1
        else { return 0 }
        guard let account = try transaction.account(id: run.queueID) else { return 0 }
        // Between the first and the last the queue has no leases but those of the run.
        do {
            try transaction.connection.run(insertOutcomes) { row in
                row.bind(first, at: 1)
                row.bind(run.last, at: 2)
                row.bind(run.queueID, at: 3)
                row.bind(transaction.now.microseconds, at: 4)
            }
        } catch  where error.isContradiction {
            // One of them has ended before, going by the table. Each by itself finds out which.
            return 0
        }
        try transaction.connection.run(deleteLeases) { row in
            row.bind(first, at: 1)
            row.bind(run.last, at: 2)
            row.bind(run.queueID, at: 3)
        }
        account.change.count(.leased, -Int64(run.count))
        account.change.count(.done, Int64(run.count))
        account.change.doneTotal += Int64(run.count)
        return run.count
    }

    private struct Run {
        var queueID: Int64
        var count: Int
        var last: Int64
    }

    /// Goes through settlements and leases side by side for as long as they agree.
    private static func run(
        _ settlements: ArraySlice<Settlement>, from first: Int64, in connection: Connection
    ) throws -> Run? {
        let statement = try connection.statement(readLeases)
        defer { statement.reset() }
        statement.bind(first, at: 1)
        guard try statement.step() else { return nil }
        var run = Run(queueID: statement.integer(2), count: 0, last: first)
        var isAtLease = true
        var passed = 0
        for settlement in settlements {
            let wanted = settlement.lease.sequence.rawValue
            while isAtLease, passed < passedMax, statement.integer(2) != run.queueID, statement.integer(0) < wanted {
                isAtLease = try statement.step()
                passed += 1
            }
            guard isAtLease, case .done = settlement.verdict,
                statement.integer(0) == wanted, statement.integer(2) == run.queueID,
                statement.integer(1) == settlement.lease.token.rawValue, statement.integer(3) == 0
            else { break }
            run.count += 1
            run.last = statement.integer(0)
            isAtLease = try statement.step()
        }
        return run
    }

    private static let readLeases = Query(
        "SELECT sequence, token, queue_id, keyed FROM penstock_lease WHERE sequence >= ?1 ORDER BY sequence")
    private static let insertOutcomes = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'done', NULL, attempt, ?4 FROM penstock_lease
        WHERE sequence BETWEEN ?1 AND ?2 AND queue_id = ?3
        """)
    private static let deleteLeases = Query(
        "DELETE FROM penstock_lease WHERE sequence BETWEEN ?1 AND ?2 AND queue_id = ?3")
}
