import PenstockCore

/// Workers that claim through another process: rows without a lock.
///
/// Their leases are on the boot clock, as all are, and nobody of them is there to say after a reboot on which clock. So beside that
/// clock it is on record by how much it was behind the wall clock, and whoever writes first after a reboot moves the ends of
/// their leases to the new clock.
enum RemoteWorkers {
    /// How long a worker that holds nothing is there after it asked for messages last, and its row stays.
    private static let keptFor = Duration.seconds(60)
    /// How exactly that moment is on record.
    private static let seenEvery = Duration.seconds(10)
    /// By how much the wall clock may go another way than the boot clock before that is written down.
    private static let driftMax = Duration.seconds(1)
    /// The largest number that the table takes.
    private static let latest = Int64.max / 2

    /// The number of the row of `name`, which is made at need. Rows of idle workers are left to the next look for lost work: to find them
    /// is to go through all workers and all leases, and no other process can write during a claim.
    static func register(_ name: WorkerName, in transaction: Transaction) throws -> Int64 {
        if let id = try renew(name, in: transaction) { return id }
        let connection = transaction.connection
        let (now, offset) = (transaction.now.microseconds, offset(in: transaction))
        let row = "remote:" + name.text
        try connection.run(
            insertWorker, .text(row), .text(name.text), .text(transaction.time.boot.bootID), .integer(now))
        let id = try WorkerRow.id(of: row, connection)
        try connection.run(insert, .integer(id), .text(name.text), .integer(now), .integer(offset))
        return id
    }

    /// Writes down that `name` asks for messages, whether it gets any or not: a worker that waits for them is there.
    ///
    /// - Returns: the number of its row; `nil`: it has none, as it has got nothing yet or was silent for long.
    static func renew(_ name: WorkerName, in transaction: Transaction) throws -> Int64? {
        try rebase(in: transaction)
        let offset = offset(in: transaction)
        guard let known = try known(name, transaction.connection) else { return nil }
        if known.isOld(at: transaction.now, offset) {
            try transaction.connection.run(
                see, .integer(known.id), .integer(transaction.now.microseconds), .integer(offset))
        }
        return known.id
    }

    /// Whether ``renew(_:in:)`` has something to write down.
    static func mustRenew(_ name: WorkerName, _ connection: Connection, at boot: BootTime, _ now: Timestamp) throws
        -> Bool
    {
        try known(name, connection)?.isOld(at: now, offset(boot, now)) ?? false
    }

    /// Whether it is a remote worker that has not asked for messages for a while. One that asked last when the wall clock was ahead may be gone
    /// since long, and one that is there asks again soon.
    static func isSilent(_ worker: WorkerRow, at now: Timestamp) -> Bool {
        worker.seenAt.map { $0 <= now - keptFor || $0 >= now + keptFor } ?? false
    }

    /// By remote worker, when the last of its leases ends, on the clock of `boot` also where nobody has moved it there yet.
    static func lastEnds(at boot: BootTime, _ now: Timestamp, _ connection: Connection) throws -> [Int64: Int64] {
        let ends = try connection.all(readEnds) { row in
            let shift = row.text(2) == boot.bootID ? 0 : shift(from: row.integer(3), to: offset(boot, now))
            return (row.integer(0), row.integer(1).clamped(to: -latest...latest) + shift)
        }
        return Dictionary(ends, uniquingKeysWith: max)
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
            let shift = shift(from: before, to: offset)
            // No lease lasts longer than one that was just extended, whatever the clocks say.
            let end = boot.microseconds + Limits.leaseRange.upperBound.wholeMicroseconds
            try connection.run(shiftLeases, .integer(id), .integer(shift), .integer(end))
            try connection.run(shiftRequests, .integer(id), .integer(shift), .integer(end))
            try connection.run(writeClock, .integer(id), .text(boot.bootID))
            try connection.run(writeOffset, .integer(id), .integer(offset))
        }
    }

    /// The workers that hold nothing and have not asked for messages for a while.
    static func idle(_ work: HeldWork, at now: Timestamp) -> [Int64] { work.idleWorkers(since: now - keptFor) }

    /// Removes the rows of workers that hold nothing and have not asked for messages for a while.
    static func forgetIdle(in transaction: Transaction) throws {
        let connection = transaction.connection
        for id in idle(try HeldWork(connection), at: transaction.now) {
            try connection.run(WorkerRow.delete, .integer(id))
            try connection.run(delete, .integer(id))
        }
    }

    private static func offset(in transaction: Transaction) -> Int64 { offset(transaction.time.boot, transaction.now) }

    private static func offset(_ boot: BootTime, _ now: Timestamp) -> Int64 {
        (boot.microseconds - now.microseconds).clamped(to: -latest...latest)
    }

    /// By how much the ends of leases move with their clock, which was behind the wall clock by `before`.
    private static func shift(from before: Int64, to offset: Int64) -> Int64 {
        // Within half of the range, so that no sum overflows: SQLite would go on with a floating-point number.
        let (moved, overflow) = offset.subtractingReportingOverflow(before)
        return overflow ? 0 : moved.clamped(to: -latest...latest)
    }

    /// What is on record of a worker.
    private struct Known {
        var id: Int64
        var seenAt: Int64
        var offset: Int64

        func isOld(at now: Timestamp, _ offset: Int64) -> Bool {
            isApart(now.microseconds, seenAt, seenEvery) || isApart(offset, self.offset, driftMax)
        }
    }

    private static func known(_ name: WorkerName, _ connection: Connection) throws -> Known? {
        try connection.first(read, .text(name.text)) { row in
            Known(id: row.integer(0), seenAt: row.integer(1), offset: row.integer(2))
        }
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
    private static let readEnds = Query(
        """
        SELECT remote.worker_id, max(lease.deadline), worker.boot_id, remote.wall_offset
        FROM penstock_lease AS lease JOIN penstock_remote_worker AS remote ON remote.worker_id = lease.worker_id
            JOIN penstock_worker AS worker ON worker.id = remote.worker_id
        GROUP BY remote.worker_id, worker.boot_id, remote.wall_offset
        """)
    private static let see = Query(
        "UPDATE penstock_remote_worker SET seen_at = ?2, wall_offset = ?3 WHERE worker_id = ?1")
    // A row of that name which is no worker's is in nobody's way.
    private static let insertWorker = Query(
        """
        INSERT OR REPLACE INTO penstock_worker (lock_name, name, process_id, boot_id, started_at)
        VALUES (?1, ?2, 0, ?3, ?4)
        """)
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
    private static let delete = Query("DELETE FROM penstock_remote_worker WHERE worker_id = ?1")
}
