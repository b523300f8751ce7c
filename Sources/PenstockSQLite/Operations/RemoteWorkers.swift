import PenstockCore

/// Workers that claim through another process: rows without a lock.
///
/// Their leases are on the boot clock, as all are, and nobody of them is there to say after a reboot on which clock. So beside that
/// clock it is on record by how much it was behind the wall clock, and whoever writes first after a reboot moves the ends of
/// their leases to the new clock.
enum RemoteWorkers {
    /// How long the row of a worker that holds nothing stays after its last claim.
    private static let keptFor = Duration.seconds(60)
    /// How exactly its last claim is on record.
    private static let seenEvery = Duration.seconds(10)
    /// By how much the wall clock may go another way than the boot clock before that is written down.
    private static let driftMax = Duration.seconds(1)
    /// The largest number that the table takes.
    private static let latest = Int64.max / 2

    /// The number of the row of `name`, which is made at need.
    static func register(_ name: WorkerName, in transaction: Transaction) throws -> Int64 {
        try rebase(in: transaction)
        let connection = transaction.connection
        let (now, offset) = (transaction.now.microseconds, offset(in: transaction))
        let found = try connection.first(read, .text(name.text)) { ($0.integer(0), $0.integer(1), $0.integer(2)) }
        if let (id, seenAt, knownOffset) = found {
            if isApart(now, seenAt, seenEvery) || isApart(offset, knownOffset, driftMax) {
                try connection.run(see, .integer(id), .integer(now), .integer(offset))
            }
            return id
        }
        try forgetIdle(in: transaction)
        let row = "remote:" + name.text
        try connection.run(
            insertWorker, .text(row), .text(name.text), .text(transaction.time.boot.bootID), .integer(now))
        guard let id = try connection.first(readID, .text(row), read: { $0.integer(0) }) else {
            throw PenstockError(.storage, "The worker's row was not written; run `penstock doctor`.")
        }
        try connection.run(insert, .integer(id), .text(name.text), .integer(now), .integer(offset))
        return id
    }

    /// Moves what remote workers hold from the clocks of earlier boots to this one.
    static func rebase(in transaction: Transaction) throws {
        if transaction.hasRebasedRemoteWorkers { return }
        transaction.hasRebasedRemoteWorkers = true
        let connection = transaction.connection
        let boot = transaction.time.boot
        let others = try connection.all(readOthers, .text(boot.bootID)) { ($0.integer(0), $0.integer(1)) }
        let offset = offset(in: transaction)
        for (id, before) in others {
            // Within half of the range, so that no sum overflows: SQLite would go on with a floating-point number.
            let (moved, overflow) = offset.subtractingReportingOverflow(before)
            let shift = overflow ? 0 : moved.clamped(to: -latest...latest)
            // No lease lasts longer than one that was just extended, whatever the clocks say.
            let end = boot.microseconds + Limits.leaseRange.upperBound.wholeMicroseconds
            try connection.run(shiftLeases, .integer(id), .integer(shift), .integer(end))
            try connection.run(shiftRequests, .integer(id), .integer(shift), .integer(end))
            try connection.run(writeClock, .integer(id), .text(boot.bootID))
            try connection.run(writeOffset, .integer(id), .integer(offset))
        }
    }

    /// The workers that hold nothing and have not claimed for a while.
    static func idle(_ work: HeldWork, at now: Timestamp) -> [Int64] { work.idleWorkers(since: now - keptFor) }

    /// Removes the rows of workers that hold nothing and have not claimed for a while.
    static func forgetIdle(in transaction: Transaction) throws {
        let connection = transaction.connection
        for id in idle(try HeldWork(connection), at: transaction.now) {
            try connection.run(deleteWorker, .integer(id))
            try connection.run(delete, .integer(id))
        }
    }

    private static func offset(in transaction: Transaction) -> Int64 {
        (transaction.time.boot.microseconds - transaction.now.microseconds).clamped(to: -latest...latest)
    }

    private static func isApart(_ first: Int64, _ second: Int64, _ by: Duration) -> Bool {
        let (difference, overflow) = first.subtractingReportingOverflow(second)
        return overflow || difference.magnitude >= by.wholeMicroseconds.magnitude
    }

    private static let read = Query(
        """
        SELECT remote.worker_id, remote.seen_at, remote.wall_offset
        FROM penstock_remote_worker AS remote JOIN penstock_worker AS worker ON worker.id = remote.worker_id
        WHERE remote.name = ?1
        """)
    private static let see = Query(
        "UPDATE penstock_remote_worker SET seen_at = ?2, wall_offset = ?3 WHERE worker_id = ?1")
    // A row of that name which is no worker's is in nobody's way.
    private static let insertWorker = Query(
        """
        INSERT OR REPLACE INTO penstock_worker (lock_name, name, process_id, boot_id, started_at)
        VALUES (?1, ?2, 0, ?3, ?4)
        """)
    private static let readID = Query("SELECT id FROM penstock_worker WHERE lock_name = ?1")
    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_remote_worker (worker_id, name, seen_at, wall_offset) VALUES (?1, ?2, ?3, ?4)")
    private static let readOthers = Query(
        """
        SELECT worker.id, remote.wall_offset
        FROM penstock_remote_worker AS remote JOIN penstock_worker AS worker ON worker.id = remote.worker_id
        WHERE worker.boot_id <> ?1
        """)
    private static let shiftLeases = Query(
        "UPDATE penstock_lease SET deadline = max(0, min(deadline + ?2, ?3)) WHERE worker_id = ?1")
    private static let shiftRequests = Query(
        """
        UPDATE penstock_cancel SET until = max(0, min(until + ?2, ?3))
        WHERE sequence IN (SELECT sequence FROM penstock_lease WHERE worker_id = ?1)
        """)
    private static let writeClock = Query("UPDATE penstock_worker SET boot_id = ?2 WHERE id = ?1")
    private static let writeOffset = Query("UPDATE penstock_remote_worker SET wall_offset = ?2 WHERE worker_id = ?1")
    private static let deleteWorker = Query("DELETE FROM penstock_worker WHERE id = ?1")
    private static let delete = Query("DELETE FROM penstock_remote_worker WHERE worker_id = ?1")
}
