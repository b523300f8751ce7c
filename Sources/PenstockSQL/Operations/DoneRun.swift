import PenstockCore

/// Finishing messages by the run.
///
/// What workers hand in is mostly a run of leases, one after the other in the table, whose messages are all done. Two
/// statements move such a run, where each message by itself takes three.
enum DoneRun {
    /// Leases of other queues that lie within one run at most. Where there are more, going through them would cost more
    /// than the run saves.
    private static let passedMax = 1000

    /// How many leases are looked at for so many verdicts. An engine may read all of them before the first is seen.
    private static func readMax(_ settlements: ArraySlice<Settlement>) -> Int64 {
        Int64(min(2 * settlements.count + 16, settlements.count + passedMax))
    }

    /// Says that ``finish(_:in:)`` is about to look.
    static func prefetch(_ settlements: ArraySlice<Settlement>, from first: Int64, _ connection: Connection) throws {
        try connection.prefetch(readLeases, .integer(first), .integer(readMax(settlements)))
    }

    /// Finishes the run of at least two messages that `settlements` begins with.
    ///
    /// It ends before a verdict other than `done`, a result, messages that come with the verdict, a lease that is lost, a message
    /// with a mark that asks for more than a task's, and a message of another queue. Leases of other queues may lie in between.
    ///
    /// - Returns: how many messages it finished; 0 when there is no such run.
    static func finish(_ settlements: ArraySlice<Settlement>, in transaction: Transaction) throws -> Int {
        guard let first = settlements.first?.lease.sequence.rawValue,
            let run = try run(settlements, from: first, in: transaction), run.count > 1,
            let account = try transaction.account(id: run.queueID)
        else { return 0 }
        // Between the first and the last the queue has no leases but those of the run.
        do {
            try transaction.connection.attempt {
                try transaction.connection.run(
                    insertOutcomes, .integer(first), .integer(run.last), .integer(run.queueID),
                    .integer(transaction.now.microseconds))
            }
        } catch  where error.isContradiction {
            // One of them has ended before, going by the table. Each by itself finds out which.
            return 0
        }
        try transaction.connection.run(deleteLeases, .integer(first), .integer(run.last), .integer(run.queueID))
        account.change.count(.leased, -Int64(run.count))
        account.change.count(.done, Int64(run.count))
        account.change.doneTotal += Int64(run.count)
        account.change.latency.work.add(run.work)
        if !run.tasks.isEmpty { try DoneTasks.tell(run.tasks, in: transaction) }
        return run.count
    }

    private struct Run {
        var queueID: Int64
        var count: Int
        var last: Int64
        /// Those that are tasks of workflows.
        var tasks: [Int64] = []
        /// How long they have been leased.
        var work = LatencyHistogram()
    }

    /// Goes through settlements and leases side by side for as long as they agree.
    private static func run(
        _ settlements: ArraySlice<Settlement>, from first: Int64, in transaction: Transaction
    ) throws -> Run? {
        let statement = try transaction.connection.statement(readLeases)
        defer { statement.reset() }
        statement.bind(first, at: 1)
        statement.bind(readMax(settlements), at: 2)
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
            guard isAtLease, case .done = settlement.verdict, settlement.result == nil, !settlement.bringsMessages,
                statement.integer(0) == wanted, statement.integer(2) == run.queueID,
                statement.integer(1) == settlement.lease.token.rawValue
            else { break }
            let marks = Marks(rawValue: statement.integer(3))
            // One that holds its key only while it waits holds none, and one that expires has no row meanwhile.
            guard marks.isSubset(of: [.task, .keyWhileWaiting, .expiry]) else { break }
            if marks.contains(.task) { run.tasks.append(wanted) }
            run.count += 1
            run.last = statement.integer(0)
            run.work.record(microseconds: transaction.now.microseconds.elapsed(since: statement.integer(4)))
            isAtLease = try statement.step()
        }
        return run
    }

    private static let readLeases = Query(
        """
        SELECT sequence, token, queue_id, marks, claimed_at FROM penstock_lease WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2
        """)
    private static let insertOutcomes = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'done', NULL, attempt, ?4 FROM penstock_lease
        WHERE sequence BETWEEN ?1 AND ?2 AND queue_id = ?3
        """)
    private static let deleteLeases = Query(
        "DELETE FROM penstock_lease WHERE sequence BETWEEN ?1 AND ?2 AND queue_id = ?3")
}
