package import PenstockCore

/// Whether the permits of groups agree with where the messages are. Groups that are noted to be seen to may disagree until then, and
/// so may those of a queue that is being deleted, or copied here.
package enum GroupInspection {
    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        try report.find(
            strayPermitsSQL, .wrongPermits, "{has|have} a permit of a group that {it|they} should have let go",
            connection)
        try report.find(
            withoutPermitSQL, .wrongPermits,
            "{is|are} in line for workers or with one, without a permit of {its|their} group", connection)
        try report.find(
            blockedInVainSQL, .wrongPermits, "{waits|wait} for a permit of {its|their} group while one is free",
            connection)
        try report.find(
            tooManySQL, .wrongPermits,
            "{is|are} in line for workers although {its|their} group has no permit for {it|them}", connection)
        try report.find(
            wrongGroupSQL, .wrongPermits, "{is|are} in line with another group than the log has", connection)
        for name in try connection.all(unknownClocks, read: { $0.text(0) ?? "" }) {
            report.add(
                .wrongPermits, .error,
                "Groups of the queue '\(name)' wait for their time by a clock that nothing names: the queue has lost its row "
                    + "in penstock_rate.", queue: name)
        }
    }

    /// Queues with numbers of groups that are on no clock.
    package static let unknownClock = """
        queue.deleting = 0 AND EXISTS (SELECT 1 FROM penstock_group_rate AS held WHERE held.queue_id = queue.id)
            AND NOT EXISTS (SELECT 1 FROM penstock_rate AS rate WHERE rate.queue_id = queue.id)
        """
    private static let unknownClocks = Query(
        "SELECT queue.name FROM penstock_queue AS queue WHERE \(unknownClock) ORDER BY queue.name")

    /// Permits of messages which the log does not have with that group, or which keep none where they are.
    package static let strayPermitsSQL = """
        SELECT permit.sequence FROM penstock_permit AS permit
        LEFT JOIN penstock_log AS log ON log.sequence = permit.sequence AND log.queue_id = permit.queue_id
            AND log.group_key = permit.group_key
        LEFT JOIN penstock_queue AS queue ON queue.id = permit.queue_id
        WHERE \(isNotNoted("permit")) AND coalesce(queue.deleting, 0) = 0 AND (log.sequence IS NULL OR NOT (
            EXISTS (SELECT 1 FROM penstock_lease AS line WHERE line.sequence = permit.sequence)
            OR EXISTS (SELECT 1 FROM penstock_ready AS line WHERE line.queue_id = permit.queue_id
                AND line.priority = log.priority AND line.turn = log.turn AND line.sequence = permit.sequence)
            OR queue.fifo <> 0 AND (
                EXISTS (SELECT 1 FROM penstock_scheduled AS line WHERE line.sequence = permit.sequence)
                OR queue.on_dead = 'hold' AND EXISTS (SELECT 1 FROM penstock_outcome AS line
                    WHERE line.queue_id = permit.queue_id AND line.sequence = permit.sequence
                    AND line.state = 'dead'))))
        """

    /// Messages that are ready or leased and whose group has given them no permit.
    package static let withoutPermit = """
        FROM penstock_log AS log WHERE log.group_key IS NOT NULL AND log.queue_id IN (\(groupedAndWhole))
        AND NOT EXISTS (SELECT 1 FROM penstock_permit AS permit WHERE permit.queue_id = log.queue_id
            AND permit.group_key = log.group_key AND permit.sequence = log.sequence)
        AND (EXISTS (SELECT 1 FROM penstock_lease AS line WHERE line.sequence = log.sequence)
            OR EXISTS (SELECT 1 FROM penstock_ready AS line WHERE line.queue_id = log.queue_id
                AND line.priority = log.priority AND line.turn = log.turn AND line.sequence = log.sequence))
        """

    private static let withoutPermitSQL = "SELECT log.sequence \(withoutPermit)"

    package static let blockedInVainSQL = """
        SELECT blocked.sequence FROM penstock_blocked AS blocked
        JOIN penstock_queue AS queue ON queue.id = blocked.queue_id
        LEFT JOIN (\(given)) AS given ON given.queue_id = blocked.queue_id AND given.group_key = blocked.group_key
        WHERE \(isNotNoted("blocked")) AND queue.deleting = 0 AND (queue.id NOT IN (\(grouped))
            OR coalesce(given.count, 0) < \(permitCount) AND NOT EXISTS (SELECT 1 FROM penstock_group_pause AS pause
                WHERE pause.queue_id = blocked.queue_id AND pause.group_key = blocked.group_key)
            AND NOT \(waitsForItsStart))
        """

    /// Ready messages of groups of which more have a permit than may.
    package static let tooManySQL = """
        SELECT ready.sequence FROM penstock_ready AS ready
        JOIN penstock_log AS log ON log.sequence = ready.sequence
        JOIN penstock_queue AS queue ON queue.id = ready.queue_id
        LEFT JOIN (\(given)) AS given ON given.queue_id = log.queue_id AND given.group_key = log.group_key
        WHERE log.group_key IS NOT NULL AND queue.id IN (\(groupedAndWhole)) AND \(isNotNoted("log"))
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
    private static let permitCount = "CASE WHEN queue.fifo <> 0 THEN 1 ELSE queue.limit_per_key END"
    private static let grouped = "SELECT id FROM penstock_queue WHERE (fifo <> 0 OR limit_per_key IS NOT NULL)"
    private static let groupedAndWhole = "\(grouped) AND deleting = 0"

    private static let wrongGroupSQL = """
        SELECT line.sequence FROM penstock_blocked AS line
        JOIN penstock_log AS log ON log.sequence = line.sequence WHERE coalesce(log.group_key <> line.group_key, TRUE)
        UNION
        \(QuarantineSource.line.map { source in
            """
            SELECT line.sequence FROM \(source.table) AS line
            JOIN penstock_log AS log ON log.sequence = line.sequence WHERE \(isWrongMark)
            """
        }.joined(separator: " UNION "))
        """

    /// Whether the row `line` has the mark of a group and its message in the log none, or the other way round.
    package static let isWrongMark = "(line.marks & \(Marks.group.rawValue) <> 0) <> (log.group_key IS NOT NULL)"

    private static func isNotNoted(_ table: String) -> String {
        """
        NOT EXISTS (SELECT 1 FROM penstock_regroup AS noted
            WHERE noted.queue_id = \(table).queue_id AND noted.group_key = \(table).group_key)
        """
    }
}
