package import PenstockCore
import PenstockProcesses

/// Finding the messages of the dead, and putting them back in line.
package enum Reclaiming {
    /// How many messages one transaction puts back.
    package static let stepCount = 500

    /// How long one call goes on with a cascade that it has found. Its caller claims and settles nothing meanwhile, in whatever queue;
    /// claims go on with it as well, and so does the next call.
    package static let cascadeTimeMax = Duration.milliseconds(100)

    /// What one transaction has done.
    package struct Step: Sendable {
        var reclaimed: Reclaimed
        /// Whether another one may find more that is lost.
        var hasMore = false
        /// Whether a cascade has not come to its end.
        var hasCascade = false
    }

    /// Answers, without a transaction, that nobody died, no lease ended and no cascade is left.
    ///
    /// - Returns: the empty report, or `nil` when there is something to put back.
    package static func check(
        _ connection: Connection, at boot: BootTime, _ now: Timestamp, _ locks: any WorkerLocks,
        _ suspension: MachineSuspension, _ horizon: LeaseHorizon
    ) throws -> Step? {
        let sparesLiving = suspension.isJustOver(at: boot)
        if try Cascade.isUnfinished(connection) { return nil }
        let work = try HeldWork(connection, since: horizon)
        if work.isLost(at: boot, try locks.look(connection), sparesLiving: sparesLiving) { return nil }
        if !RemoteWorkers.idle(work, at: now).isEmpty { return nil }
        return Step(reclaimed: Reclaimed())
    }

    /// Puts up to `stepCount` lost messages back, as many as it has time for, and goes on with what others have left of a cascade.
    package static func perform(
        _ locks: any WorkerLocks, _ suspension: MachineSuspension, in transaction: Transaction
    ) throws -> Step {
        let connection = transaction.connection
        let boot = transaction.time.boot
        let sparesLiving = suspension.isJustOver(at: boot)
        try RemoteWorkers.rebase(in: transaction)
        try RemoteWorkers.forgetIdle(in: transaction)
        var reclaimed = Reclaimed()
        var left = stepCount
        func putBack(_ query: Query, _ arguments: [Int64], _ how: AttemptOutcome) throws -> Int {
            let sequences = try lost(query, arguments, limit: left, connection)
            let entries = try Line.leased(MessageSet(inOrder: sequences), in: transaction)
            for (index, sequence) in sequences.enumerated() {
                if index > 0, transaction.isOverdue {
                    left = 0
                    return index
                }
                if let entry = try entries[sequence] ?? Line.leased(sequence, in: transaction),
                    try Line.move(entry, by: .lost(how), in: transaction)
                {
                    entry.account.change.reclaimedTotal += 1
                }
            }
            left -= sequences.count
            return sequences.count
        }
        var sights = try locks.look(connection)
        let workers = try WorkerRow.all(connection)
        if workers.contains(where: { WorkerStanding(of: $0, at: boot, sights).isDead }) {
            sights = try locks.lookAgain(connection) ?? sights
        }
        for worker in workers where left > 0 {
            switch WorkerStanding(of: worker, at: boot, sights) {
            case .dead:
                reclaimed.fromDeadWorkers += try putBack(leasesOf, [worker.id], .workerDied)
                // Its row stays until the last of its messages is back: it says by what name the others are to be found.
                if left > 0 {
                    try connection.run(WorkerRow.delete, .integer(worker.id))
                    transaction.onCommit { locks.removeLeft(worker.lockName) }
                }
            case .lives(endsCount: true) where !sparesLiving:
                reclaimed.fromExpiredLeases += try putBack(endedLeases, [worker.id, boot.microseconds], .leaseExpired)
            case .lives:
                break
            }
        }
        if left > 0 { reclaimed.fromDeadWorkers += try putBack(orphanedLeases, [], .workerDied) }
        return Step(reclaimed: reclaimed, hasMore: left == 0, hasCascade: try Cascade.goOn(in: transaction))
    }

    /// How many leases of living workers have ended, so that their messages are to be put back.
    package static func endedLeaseCount(_ connection: Connection, boot: BootTime, _ locks: any WorkerLocks) throws
        -> Int
    {
        let sights = try locks.look(connection)
        return try WorkerRow.all(connection).reduce(0) { count, worker in
            guard case .lives(endsCount: true) = WorkerStanding(of: worker, at: boot, sights) else { return count }
            return try count + lost(endedLeases, [worker.id, boot.microseconds], limit: .max, connection).count
        }
    }

    /// How many leases have a worker without a row, so that their messages are to be put back as those of a dead one.
    package static func orphanedLeaseCount(_ connection: Connection) throws -> Int {
        try lost(orphanedLeases, [], limit: .max, connection).count
    }

    /// Gives back, uncounted, every message that the worker `id` holds: its process ends in good order.
    package static func releaseAll(of id: Int64, in transaction: Transaction) throws {
        for sequence in try lost(leasesOf, [id], limit: .max, transaction.connection) {
            guard let entry = try Line.leased(sequence, in: transaction) else { continue }
            try Line.move(entry, by: .settled(.release), in: transaction)
        }
    }

    /// The first `limit` leases that `query` finds, in the order of their messages.
    private static func lost(
        _ query: Query, _ arguments: [Int64], limit: Int, _ connection: Connection
    ) throws -> [Int64] {
        let statement = try connection.statement(query)
        defer { statement.reset() }
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        var sequences: [Int64] = []
        while sequences.count < limit, try statement.step() { sequences.append(statement.integer(0)) }
        return sequences
    }

    /// Whether the worker `id` holds a message.
    package static func hasLeases(_ id: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(anyLeaseOf, .integer(id))
    }

    private static let leasesOf = Query("SELECT sequence FROM penstock_lease WHERE worker_id = ?1 ORDER BY sequence")
    private static let endedLeases = Query(
        "SELECT sequence FROM penstock_lease WHERE worker_id = ?1 AND deadline <= ?2 ORDER BY sequence")
    private static let anyLeaseOf = Query("SELECT 1 FROM penstock_lease WHERE worker_id = ?1 LIMIT 1")
    // A lease whose worker has no row has nobody to settle it.
    private static let orphanedLeases = Query(
        """
        SELECT sequence FROM penstock_lease AS lease
        WHERE NOT EXISTS (SELECT 1 FROM penstock_worker AS worker WHERE worker.id = lease.worker_id) ORDER BY sequence
        """)
}
