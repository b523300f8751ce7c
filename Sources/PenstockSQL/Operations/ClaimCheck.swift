import PenstockCore

/// The read-only check of a claim.
extension Claiming {
    /// Answers a claim that has nothing to take, without a transaction: an idle worker takes no lock.
    ///
    /// - Returns: the empty claim, or `nil` when there is something to take or to make ready.
    static func check(
        _ request: ClaimRequest, _ connection: Connection, _ policies: PolicyCache, _ now: Timestamp,
        _ time: any TimeSource
    ) throws -> Claim? {
        guard let queue = try connection.first(readQueue, .text(request.queue.text), read: Look.init) else {
            throw PenstockError.unknown(request.queue)
        }
        if let worker = request.remoteWorker, try RemoteWorkers.mustRenew(worker, connection, at: time.boot, now) {
            return nil
        }
        let id = queue.id
        let isLimited = queue.isLimited
        // Its next step may make messages ready, here or elsewhere.
        if try Cascade.isUnfinished(connection) { return nil }
        // The claim is refused then, and not left to wait for ever.
        if queue.isMoving { return nil }
        if queue.isClosed { return .empty(isLimited: isLimited) }
        if queue.isNoted { return nil }
        if let expiry = queue.expiry, expiry <= now { return nil }
        if try connection.integer(anyReady, .integer(id)) == 1 {
            if try LeaseLimits.isFull(id, connection) { return .withheld(until: queue.expiry) }
            guard let rate = queue.rate,
                let opens = try Rates.opens(id, rate, time.boot, now, connection)
            else { return nil }
            return .withheld(until: earlier(opens, queue.expiry))
        }
        let dueStart = policies.dueStart(of: id, at: now)
        var due = try firstDue(of: id, from: dueStart, connection)
        // Some must be before that, and the claim looks further.
        if due == nil, dueStart > .min, try connection.has(anyScheduled, .integer(id)) { return nil }
        if let due, due <= now { return nil }
        due = earlier(due, queue.expiry)
        if queue.waitsForRates {
            let opening = try GroupRates.nextOpening(id, time.boot, now, connection)
            if let opening, opening <= now { return nil }
            due = earlier(due, opening)
        }
        if queue.hasSchedules {
            if try Firing.hasDue(of: id, at: now, connection) { return nil }
            due = earlier(due, try Firing.nextDue(of: id, after: now, connection))
        }
        return .empty(isLimited: isLimited, nextDue: due)
    }

    /// What a look at a queue asks first.
    private struct Look {
        var id: Int64
        var isClosed: Bool
        var hasSchedules: Bool
        var isNoted: Bool
        var isLimited: Bool
        var rate: Rate?
        /// Whether groups wait until they may start.
        var waitsForRates: Bool
        /// When the first message expires.
        var expiry: Timestamp?
        /// Whether all queues move to another store, or have moved there.
        var isMoving: Bool

        init(_ row: PreparedStatement) {
            id = row.integer(0)
            isClosed = row.integer(1) != 0
            hasSchedules = row.integer(2) != 0
            isNoted = row.integer(3) != 0
            isLimited = row.integer(4) != 0
            rate = Rate(row, at: 5)
            waitsForRates = row.integer(8) != 0
            expiry = row.optionalInteger(9).map { Timestamp(microseconds: $0) }
            isMoving = row.integer(10) != 0
        }
    }

    private static let readQueue = Query(
        """
        SELECT id, paused <> 0 OR deleting <> 0, EXISTS (SELECT 1 FROM penstock_schedule WHERE queue_id = queue.id AND paused = 0),
            EXISTS (SELECT 1 FROM penstock_regroup WHERE queue_id = queue.id),
            fifo <> 0 OR limit_per_key IS NOT NULL OR limit_count IS NOT NULL OR share_limit IS NOT NULL
                OR rate_count IS NOT NULL,
            rate_count, rate_period, rate_burst,
            EXISTS (SELECT 1 FROM penstock_group_rate WHERE queue_id = queue.id AND opens_at IS NOT NULL),
            (SELECT expires_at FROM penstock_expiry WHERE queue_id = queue.id ORDER BY expires_at LIMIT 1),
            EXISTS (SELECT 1 FROM penstock_state WHERE moving IS NOT NULL)
        FROM penstock_queue AS queue WHERE name = ?1
        """)
    // A depth that says otherwise was made wrong by hand; the claim puts it right.
    private static let anyReady = Query(
        """
        SELECT EXISTS (SELECT 1 FROM penstock_ready WHERE queue_id = ?1)
            OR EXISTS (SELECT 1 FROM penstock_depth WHERE queue_id = ?1 AND ready <> 0)
        """,
        server: """
            \(withStart)
            SELECT coalesce((SELECT ready <> 0 FROM start), TRUE)
                OR EXISTS (SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority = (SELECT from_priority FROM start)
                    AND (turn, sequence) >= ((SELECT from_turn FROM start), (SELECT from_sequence FROM start)))
                OR EXISTS (SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority < (SELECT from_priority FROM start))
            """)
    private static let anyScheduled = Query(
        "SELECT 1 FROM penstock_depth WHERE queue_id = ?1 AND scheduled <> 0",
        server: "\(withStart) SELECT 1 FROM start WHERE scheduled <> 0")
}
