import PenstockCore

/// Asking workers to end, so that what they work on can be cancelled.
///
/// The bound is kept by the lease: it ends when the worker's time is over, and no extension moves it beyond that. So a worker that is
/// stopped, hangs or goes on regardless loses its message as any whose lease has ended, and a dead one as ever; what `Lifecycle` says of
/// a message with the mark is that it is cancelled then.
enum CancelRequests {
    /// Asks the worker that has `entry` to end within `time`.
    ///
    /// - Returns: whether it was not asked before. To ask again can only make the time shorter.
    static func make(_ entry: LineEntry, within time: Duration, in transaction: Transaction) throws -> Bool {
        guard let lease = entry.lease else { return false }
        let connection = transaction.connection
        let (boot, time) = (transaction.time.boot, time.wholeMicroseconds)
        try RemoteWorkers.rebase(in: transaction)
        let clock = try connection.first(readClock, .integer(lease.workerID)) { $0.text(0) } ?? nil
        var until = clock == boot.bootID ? boot.microseconds + time : nil
        let isNew = !entry.marks.contains(.cancelRequested)
        if isNew {
            try connection.run(
                insert, .integer(entry.sequence), .integer(lease.token), .integer(transaction.now.microseconds),
                .integer(time), Value(until))
        } else {
            until = try shorten(entry.sequence, time, until, connection)
        }
        try connection.run(mark, .integer(entry.sequence), .integer(Marks.cancelRequested.rawValue), Value(until))
        transaction.ringAll(entry.account.name)
        return isNew
    }

    /// - Returns: when the time of the request is over.
    private static func shorten(
        _ sequence: Int64, _ time: Int64, _ until: Int64?, _ connection: Connection
    ) throws -> Int64? {
        try connection.run(update, .integer(sequence), .integer(time), Value(until))
        return try connection.first(readUntil, .integer(sequence)) { $0.optionalInteger(0) } ?? nil
    }

    /// The end that the lease of message `sequence` gets, whose worker is asked to end and would have it last until `deadline`.
    static func bounded(_ deadline: Int64, of sequence: Int64, in transaction: Transaction) throws -> Int64 {
        let connection = transaction.connection
        let request = try connection.first(readUntil, .integer(sequence)) { ($0.optionalInteger(0), $0.integer(1)) }
        guard let (until, time) = request else { return deadline }
        if let until { return min(deadline, until) }
        // Only now somebody is here who reads the worker's clock: the worker.
        let end = transaction.time.boot.microseconds + time.clamped(to: 0...Limits.delayMax.wholeMicroseconds)
        try connection.run(update, .integer(sequence), .integer(time), .integer(end))
        return min(deadline, end)
    }

    /// Forgets that the worker was asked: the message is leased no more.
    static func end(_ sequence: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(sequence))
    }

    static func standing(of lease: Lease, _ connection: Connection) throws -> LeaseStanding {
        let row = try connection.first(readLease, .integer(lease.sequence.rawValue)) { row in
            (token: row.integer(0), marks: Marks(rawValue: row.integer(1)))
        }
        guard let row, row.token == lease.token.rawValue else { return .lost }
        return row.marks.contains(.cancelRequested) ? .cancelRequested : .held
    }

    private static let readClock = Query("SELECT boot_id FROM penstock_worker WHERE id = ?1")
    private static let readLease = Query("SELECT token, marks FROM penstock_lease WHERE sequence = ?1")
    private static let readUntil = Query("SELECT until, time FROM penstock_cancel WHERE sequence = ?1")
    // Whatever a contradiction may have left there is of no claim that lives.
    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_cancel (sequence, token, requested_at, time, until) VALUES (?1, ?2, ?3, ?4, ?5)"
    )
    private static let update = Query(
        """
        UPDATE penstock_cancel SET time = min(time, ?2), until = CASE
            WHEN until IS NULL THEN ?3 WHEN ?3 IS NULL THEN until ELSE min(until, ?3) END
        WHERE sequence = ?1
        """)
    private static let mark = Query(
        """
        UPDATE penstock_lease SET marks = marks | ?2, deadline = min(deadline, coalesce(?3, deadline))
        WHERE sequence = ?1
        """)
    private static let delete = Query("DELETE FROM penstock_cancel WHERE sequence = ?1")
}
