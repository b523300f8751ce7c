import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Sees what nobody rings for: workers that died and leases that ended, verdicts said in SQL, rings that were lost with the process that
/// owed them, and what other programs write.
///
/// While nothing was written, and nobody holds messages, a look is one question to the server. It belongs to one thread.
final class ServerLook {
    private let connection: PostgresConnection
    private let locks: SessionLocks
    private let clock: any TimeSource
    private let horizon: LeaseHorizon
    private var token: String?
    private var heldWork = HeldWork()
    /// Whether the store has changed since it was last seen to whom to ring.
    private var mustRing = false
    private var lastRing = ContinuousClock.now

    init(_ connection: PostgresConnection, _ locks: SessionLocks, _ clock: any TimeSource) {
        self.connection = connection
        self.locks = locks
        self.clock = clock
        horizon = LeaseHorizon(by: clock)
    }

    /// What a look saw.
    struct Seen {
        /// Whether something is to be put back in line, or to be carried out before all else.
        var hasLostWork = false
        /// Whether verdicts that were said in SQL are to be carried out.
        var hasSaidVerdicts = false
        /// Whether a ring may have been lost: the store has changed, and stands still or has done so for a while.
        var isNews = false
        /// Whether nobody holds messages, and everything that was written is heard of.
        var isIdle = false
        /// Whether no other machine's process hears the server; `false` unless that was asked.
        var isAlone = false
        /// Where messages wait, in line or for their time; empty unless a ring may have been lost.
        var rings: [(bucket: Int, ring: Ring)] = []
    }

    /// - Parameter asksForOthers: whether to ask for other machines' processes as well, on the same way.
    /// - Throws: as ``ServerConnection/note(table:)``, and what the server reports.
    func look(asksForOthers: Bool) throws -> Seen {
        var seen = Seen()
        var isOpen = false
        var table: Int64?
        let token = try connection.first(Self.state, .integer(asksForOthers ? 1 : 0)) { row in
            isOpen = row.integer(1) != 0
            seen.hasSaidVerdicts = row.integer(1) == 2
            seen.isAlone = row.integer(2) != 0
            table = row.integer(3)
            return row.text(0)
        }
        if let table { try connection.server.note(table: table) }
        let hasChanged = token != self.token
        if hasChanged {
            heldWork = try HeldWork(connection, since: horizon)
            // What was there before the first look those have seen who wait.
            mustRing = self.token != nil
            self.token = token ?? nil
        }
        // Whoever writes rings, so what changed just now is mostly heard of already; but not at a standby.
        if mustRing, try !hasChanged || .now - lastRing >= Self.ringMax || connection.isStandby() {
            seen.isNews = true
            seen.rings = try connection.all(Self.waiting) { row in
                let queue = QueueName(stored: row.text(0) ?? "")
                return (
                    RingBucket.of(queue), Ring(messages: Int(max(1, row.integer(1))), tag: RingBucket.tag(of: queue))
                )
            }
            (mustRing, lastRing) = (false, .now)
        }
        seen.hasLostWork = isOpen
        if isOpen || heldWork.isEmpty {
            seen.isIdle = !isOpen && !mustRing
            return seen
        }
        let sights = try locks.look(connection)
        guard heldWork.isLost(at: clock.boot, sights) else { return seen }
        // A worker may have more time since, which changes none of the numbers.
        heldWork = try HeldWork(connection, since: horizon)
        seen.hasLostWork = heldWork.isLost(at: clock.boot, sights)
        return seen
    }

    /// How long a ring that was lost in a store that changes all the time stays lost.
    private static let ringMax = Duration.seconds(1)

    // Each write to a queue changes one of these numbers. What is said of lines and leases by hand does not, and is seen by those who look
    // now and then.
    private static let state = Query(
        """
        SELECT concat_ws(' ', last_sequence, updates, policy_version, (
                SELECT sum(latest.updates) FROM penstock_queue AS queue CROSS JOIN LATERAL (
                    SELECT updates FROM penstock_depth WHERE queue_id = queue.id ORDER BY version DESC LIMIT 1
                ) AS latest)),
            CASE WHEN EXISTS (SELECT 1 FROM penstock_verdict WHERE state IS NULL) THEN 2
                WHEN EXISTS (SELECT 1 FROM penstock_cascade WHERE workflow_id >= 0) THEN 1 ELSE 0 END,
            CASE WHEN ?1 = 0 OR EXISTS (\(Sessions.otherListener)) THEN 0 ELSE 1 END, \(ServerConnection.tableNumber)
        FROM penstock_state ORDER BY version DESC LIMIT 1
        """)
    private static let waiting = Query(
        """
        SELECT queue.name, latest.ready FROM penstock_queue AS queue CROSS JOIN LATERAL (
            SELECT ready, scheduled FROM penstock_depth WHERE queue_id = queue.id ORDER BY version DESC LIMIT 1
        ) AS latest
        WHERE latest.ready > 0 OR latest.scheduled > 0
            OR EXISTS (SELECT 1 FROM penstock_schedule WHERE queue_id = queue.id AND paused = 0 AND next_due IS NULL)
            OR EXISTS (SELECT 1 FROM penstock_regroup WHERE queue_id = queue.id)
            OR EXISTS (SELECT 1 FROM penstock_group_rate WHERE queue_id = queue.id AND opens_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM penstock_expiry WHERE queue_id = queue.id)
        """)
}
