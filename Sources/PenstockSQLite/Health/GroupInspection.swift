import GRDB
import PenstockCore
import PenstockSQL

/// Whether the permits of groups agree with where the messages are. Groups that are noted to be seen to may disagree until then.
enum GroupInspection {
    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        try LineInspection.find(
            strayPermitsSQL, .wrongPermits, "{has|have} a permit of a group that {it|they} should have let go",
            database,
            &report)
        try LineInspection.find(
            withoutPermitSQL, .wrongPermits,
            "{is|are} in line for workers or with one, without a permit of {its|their} group",
            database, &report)
        try LineInspection.find(
            blockedInVainSQL, .wrongPermits, "{waits|wait} for a permit of {its|their} group while one is free",
            database,
            &report)
        try LineInspection.find(
            tooManySQL, .wrongPermits,
            "{is|are} in line for workers although {its|their} group has no permit for {it|them}",
            database, &report)
        try LineInspection.find(
            wrongGroupSQL, .wrongPermits, "{is|are} in line with another group than the log has", database, &report)
        for name in try String.fetchAll(database, sql: unknownClockSQL) {
            report.add(
                .wrongPermits, .error,
                "Groups of the queue '\(name)' wait for their time by a clock that nothing names: the queue has lost its row "
                    + "in penstock_rate.", queue: name)
        }
    }

    /// Queues with numbers of groups that are on no clock.
    static let unknownClock = """
        EXISTS (SELECT 1 FROM penstock_group_rate AS held WHERE held.queue_id = queue.id)
            AND NOT EXISTS (SELECT 1 FROM penstock_rate AS rate WHERE rate.queue_id = queue.id)
        """
    private static let unknownClockSQL =
        "SELECT queue.name FROM penstock_queue AS queue WHERE \(unknownClock) ORDER BY queue.name"

    /// Permits of messages which the log does not have with that group, or which keep none where they are.
    static let strayPermitsSQL = """
        SELECT permit.sequence FROM penstock_permit AS permit
        LEFT JOIN penstock_log AS log ON log.sequence = permit.sequence AND log.queue_id = permit.queue_id
            AND log.group_key = permit.group_key
        LEFT JOIN penstock_queue AS queue ON queue.id = permit.queue_id
        WHERE \(isNotNoted("permit")) AND (log.sequence IS NULL OR NOT (
            EXISTS (SELECT 1 FROM penstock_lease AS line WHERE line.sequence = permit.sequence)
            OR EXISTS (SELECT 1 FROM penstock_ready AS line WHERE line.queue_id = permit.queue_id
                AND line.priority = log.priority AND line.turn = log.turn AND line.sequence = permit.sequence)
            OR queue.fifo AND (
                EXISTS (SELECT 1 FROM penstock_scheduled AS line WHERE line.sequence = permit.sequence)
                OR queue.on_dead = 'hold' AND EXISTS (SELECT 1 FROM penstock_outcome AS line
                    WHERE line.queue_id = permit.queue_id AND line.sequence = permit.sequence
                    AND line.state = 'dead'))))
        """

    /// Messages that are ready or leased and whose group has given them no permit.
    static let withoutPermit = """
        FROM penstock_log AS log WHERE log.group_key IS NOT NULL AND log.queue_id IN (\(grouped))
        AND NOT EXISTS (SELECT 1 FROM penstock_permit AS permit WHERE permit.queue_id = log.queue_id
            AND permit.group_key = log.group_key AND permit.sequence = log.sequence)
        AND (EXISTS (SELECT 1 FROM penstock_lease AS line WHERE line.sequence = log.sequence)
            OR EXISTS (SELECT 1 FROM penstock_ready AS line WHERE line.queue_id = log.queue_id
                AND line.priority = log.priority AND line.turn = log.turn AND line.sequence = log.sequence))
        """

    private static let withoutPermitSQL = "SELECT log.sequence \(withoutPermit)"

    static let blockedInVainSQL = """
        SELECT blocked.sequence FROM penstock_blocked AS blocked
        JOIN penstock_queue AS queue ON queue.id = blocked.queue_id
        LEFT JOIN (\(given)) AS given ON given.queue_id = blocked.queue_id AND given.group_key = blocked.group_key
        WHERE \(isNotNoted("blocked")) AND (queue.id NOT IN (\(grouped))
            OR coalesce(given.count, 0) < \(permitCount) AND NOT EXISTS (SELECT 1 FROM penstock_group_pause AS pause
                WHERE pause.queue_id = blocked.queue_id AND pause.group_key = blocked.group_key)
            AND NOT \(waitsForItsStart))
        """

    /// Ready messages of groups of which more have a permit than may.
    static let tooManySQL = """
        SELECT ready.sequence FROM penstock_ready AS ready
        JOIN penstock_log AS log ON log.sequence = ready.sequence
        JOIN penstock_queue AS queue ON queue.id = ready.queue_id
        LEFT JOIN (\(given)) AS given ON given.queue_id = log.queue_id AND given.group_key = log.group_key
        WHERE log.group_key IS NOT NULL AND queue.id IN (\(grouped)) AND \(isNotNoted("log"))
        AND (given.count > \(permitCount) OR EXISTS (SELECT 1 FROM penstock_group_pause AS pause
            WHERE pause.queue_id = log.queue_id AND pause.group_key = log.group_key))
        """

    /// Whether the group of a blocked message waits until it may start, or for a worker to take its message that is in line. Only a
    /// rate and a worker that puts it off have it wait.
    private static let waitsForItsStart = """
        (EXISTS (SELECT 1 FROM penstock_group_rate AS held WHERE held.queue_id = blocked.queue_id
            AND held.group_key = blocked.group_key AND held.opens_at IS NOT NULL
            AND (queue.key_rate_count IS NOT NULL OR held.held_until > 0))
        OR queue.key_rate_count IS NOT NULL AND EXISTS (SELECT 1 FROM penstock_permit AS permit
            WHERE permit.queue_id = blocked.queue_id AND permit.group_key = blocked.group_key
            AND NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.sequence = permit.sequence)))
        """

    /// How many permits each group has given.
    private static let given =
        "SELECT queue_id, group_key, count(*) AS count FROM penstock_permit GROUP BY queue_id, group_key"
    private static let permitCount = "CASE WHEN queue.fifo THEN 1 ELSE queue.limit_per_key END"
    /// The queues that have groups.
    private static let grouped = "SELECT id FROM penstock_queue WHERE fifo OR limit_per_key IS NOT NULL"

    private static let wrongGroupSQL = """
        SELECT line.sequence FROM penstock_blocked AS line
        JOIN penstock_log AS log ON log.sequence = line.sequence WHERE log.group_key IS NOT line.group_key
        UNION
        \(QuarantineSource.line.map { source in
            """
            SELECT line.sequence FROM \(source.table) AS line
            JOIN penstock_log AS log ON log.sequence = line.sequence WHERE \(isWrongMark)
            """
        }.joined(separator: " UNION "))
        """

    /// Whether the row `line` has the mark of a group and its message in the log none, or the other way round.
    static let isWrongMark = "(line.marks & \(Marks.group.rawValue) <> 0) <> (log.group_key IS NOT NULL)"

    private static func isNotNoted(_ table: String) -> String {
        """
        NOT EXISTS (SELECT 1 FROM penstock_regroup AS noted
            WHERE noted.queue_id = \(table).queue_id AND noted.group_key = \(table).group_key)
        """
    }
}

/// Groups and their permits.
extension Repairing {
    /// Makes the rows agree with the log, and notes all groups where that changed one. What follows is left to any claim.
    mutating func repairGroups() throws {
        for source in QuarantineSource.line {
            try change(
                .wrongPermits, "COUNT {row|rows} of \(source.table) got {its|their} marks anew.",
                """
                UPDATE \(source.table) AS line SET marks = (line.marks & ~\(Marks.group.rawValue))
                    | (\(Marks.group.rawValue) * (log.group_key IS NOT NULL))
                FROM penstock_log AS log WHERE log.sequence = line.sequence AND \(GroupInspection.isWrongMark)
                """)
        }
        try change(
            .wrongPermits, "COUNT {blocked message|blocked messages} got the group that the log has.",
            """
            UPDATE OR IGNORE penstock_blocked AS line SET group_key = log.group_key FROM penstock_log AS log
            WHERE log.sequence = line.sequence AND log.group_key <> line.group_key
            """)
        try change(
            .wrongPermits, "COUNT {blocked message that has|blocked messages that have} no group {is|are} ready.",
            """
            INSERT OR IGNORE INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
            SELECT line.queue_id, line.priority, log.turn, line.sequence, line.attempt, line.forgiven, line.marks,
                (SELECT now FROM penstock_now)
            FROM penstock_blocked AS line JOIN penstock_log AS log ON log.sequence = line.sequence
            WHERE log.group_key IS NULL
            """)
        try database.execute(
            sql: """
                DELETE FROM penstock_blocked AS line WHERE EXISTS (SELECT 1 FROM penstock_ready AS ready
                    WHERE ready.queue_id = line.queue_id AND ready.priority = line.priority
                        AND ready.turn = (SELECT turn FROM penstock_log AS log WHERE log.sequence = line.sequence) AND ready.sequence = line.sequence);
                DELETE FROM penstock_group_pause WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                DELETE FROM penstock_rate WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                DELETE FROM penstock_group_rate WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                DELETE FROM penstock_share WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                DELETE FROM penstock_weight WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                INSERT OR IGNORE INTO penstock_fair (queue_id, priority, turn)
                    SELECT id, 0, 1 FROM penstock_queue WHERE fair;
                DELETE FROM penstock_regroup WHERE queue_id NOT IN (SELECT id FROM penstock_queue);
                """)
        // On a clock that is none; the next claim reckons them anew.
        try change(
            .wrongPermits, "COUNT {queue has|queues have} the clock of {its|their} groups' rates begun anew.",
            """
            INSERT INTO penstock_rate (queue_id, tat, clock, wall_offset)
            SELECT queue.id, NULL, '', 0 FROM penstock_queue AS queue WHERE \(GroupInspection.unknownClock)
            """)
        try change(
            .wrongPermits,
            "COUNT {permit|permits} of messages that the log does not have with that group {was|were} removed.",
            """
            DELETE FROM penstock_permit AS permit WHERE NOT EXISTS (SELECT 1 FROM penstock_log AS log
                WHERE log.sequence = permit.sequence AND log.queue_id = permit.queue_id
                    AND log.group_key = permit.group_key)
            """)
        try change(
            .wrongPermits, "COUNT {message has a permit of its group|messages have permits of their groups} again.",
            """
            INSERT INTO penstock_permit (queue_id, group_key, sequence)
            SELECT log.queue_id, log.group_key, log.sequence \(GroupInspection.withoutPermit)
            """)
        // Which permits are too many, and which are free, the next claim finds out.
        try change(
            .wrongPermits, "COUNT {group has|groups have} {its|their} permits given out anew by the next claim.",
            """
            INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
            SELECT queue_id, group_key FROM penstock_log WHERE group_key IS NOT NULL AND sequence IN (
                \(GroupInspection.strayPermitsSQL) UNION \(GroupInspection.blockedInVainSQL)
                UNION \(GroupInspection.tooManySQL))
            """)
    }
}
