import PenstockCore
import PenstockProcesses

/// Finding the messages of the dead, and putting them back in line.
enum Reclaiming {
    /// A worker as its row says.
    struct Worker: Sendable {
        var id: Int64
        var lockName: String
        var bootID: String?

        /// Whether its process lives. One whose boot is over is dead whatever its lock says.
        func isAlive(_ boot: BootTime, _ folder: SharedFolder) -> Bool {
            bootID == boot.bootID && WorkerLock.isHeld(lockName, in: folder)
        }
    }

    /// Answers, without a transaction, that nobody died and no lease ended.
    ///
    /// - Returns: the empty report, or `nil` when there is something to put back.
    static func glance(
        _ connection: Connection, boot: BootTime, _ folder: SharedFolder
    ) throws -> Reclaimed? {
        if try workers(connection).contains(where: { !$0.isAlive(boot, folder) }) { return nil }
        if let deadline = try firstEnd(connection), deadline <= boot.microseconds { return nil }
        return Reclaimed()
    }

    /// Carries out one look for lost work.
    static func perform(_ folder: SharedFolder, in transaction: Transaction) throws -> Reclaimed {
        let connection = transaction.connection
        let boot = transaction.time.boot
        var reclaimed = Reclaimed()
        for worker in try workers(connection) where !worker.isAlive(boot, folder) {
            let leases = try connection.all(leasesOf, .integer(worker.id)) { $0.integer(0) }
            for sequence in leases { try putBack(sequence, .workerDied, in: transaction) }
            reclaimed.fromDeadWorkers += leases.count
            try connection.run(deleteWorker, .integer(worker.id))
            transaction.onCommit { folder.removeLockFile(worker.lockName) }
        }
        let orphans = try connection.all(orphanedLeases) { $0.integer(0) }
        for sequence in orphans { try putBack(sequence, .workerDied, in: transaction) }
        reclaimed.fromDeadWorkers += orphans.count
        let expired = try connection.all(expiredLeases, .integer(boot.microseconds)) { $0.integer(0) }
        for sequence in expired { try putBack(sequence, .leaseExpired, in: transaction) }
        reclaimed.fromExpiredLeases = expired.count
        return reclaimed
    }

    /// Gives back, uncounted, every message that the worker `id` holds: its process ends in good order.
    static func releaseAll(of id: Int64, in transaction: Transaction) throws {
        for sequence in try transaction.connection.all(leasesOf, .integer(id), read: { $0.integer(0) }) {
            guard let entry = try Line.leased(sequence, in: transaction),
                let outcome = try Line.outcome(of: .settled(.release), on: entry, in: transaction)
            else { continue }
            try Line.move(entry, to: outcome, in: transaction)
        }
    }

    /// Every worker that has a row.
    static func workers(_ connection: Connection) throws -> [Worker] {
        try connection.all(selectWorkers) { row in
            Worker(id: row.integer(0), lockName: row.text(1) ?? "", bootID: row.text(2))
        }
    }

    /// When the first lease ends, on the boot clock in microseconds; `nil` when there is none.
    static func firstEnd(_ connection: Connection) throws -> Int64? {
        try connection.first(selectFirstEnd) { $0.optionalInteger(0) } ?? nil
    }

    private static func putBack(_ sequence: Int64, _ how: AttemptOutcome, in transaction: Transaction) throws {
        guard let entry = try Line.leased(sequence, in: transaction),
            let outcome = try Line.outcome(of: .lost(how), on: entry, in: transaction)
        else { return }
        try Line.move(entry, to: outcome, in: transaction)
        entry.account.change.reclaimedTotal += 1
    }

    private static let selectWorkers = Query("SELECT id, lock_name, boot_id FROM penstock_worker")
    private static let deleteWorker = Query("DELETE FROM penstock_worker WHERE id = ?1")
    private static let leasesOf = Query("SELECT sequence FROM penstock_lease WHERE worker_id = ?1 ORDER BY sequence")
    // Leases of workers of another boot are dead by that alone, so every deadline left is on this boot's clock.
    // A lease whose worker has no row has nobody to settle it, and counts as ended.
    private static let selectFirstEnd = Query(
        """
        SELECT min(CASE WHEN EXISTS (SELECT 1 FROM penstock_worker AS worker WHERE worker.id = lease.worker_id)
            THEN lease.deadline ELSE 0 END) FROM penstock_lease AS lease
        """)
    private static let orphanedLeases = Query(
        """
        SELECT sequence FROM penstock_lease AS lease
        WHERE NOT EXISTS (SELECT 1 FROM penstock_worker AS worker WHERE worker.id = lease.worker_id) ORDER BY sequence
        """)
    private static let expiredLeases = Query(
        "SELECT sequence FROM penstock_lease WHERE deadline <= ?1 ORDER BY sequence")
}
