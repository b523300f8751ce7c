package import PenstockCore

/// Whether every message has its one place, and the numbers agree with the rows.
package enum LineInspection {
    package static func inspectDepths(_ connection: Connection, _ report: inout HealthReport) throws {
        let wrong = try connection.all(wrongDepths) {
            (queue: $0.text(0) ?? "", state: $0.text(1) ?? "", recorded: $0.integer(2), counted: $0.integer(3))
        }
        for (queue, state, recorded, counted) in wrong {
            let said = CountedText.sentence("COUNT {message|messages} \(state)", Int(recorded))
            report.add(
                .wrongDepths, .error, "The queue '\(queue)' is said to have \(said), and has \(counted).", queue: queue)
        }
        for name in try connection.all(withoutDepths, read: { $0.text(0) ?? "" }) {
            report.add(.wrongDepths, .error, "The queue '\(name)' has lost its row in penstock_depth.", queue: name)
        }
        let last = try connection.first(lastNumbers) { (given: $0.integer(0), used: $0.integer(1)) }
        if let last, last.given < last.used {
            report.add(
                .wrongSequence, .error,
                "The last sequence number given is said to be \(last.given), and the log has one of "
                    + "\(last.used)\(report.repair).")
        }
    }

    /// What is neither wrong nor as it always is.
    package static func inspectLeftovers(_ connection: Connection, _ report: inout HealthReport) throws {
        for name in try connection.all(deletedQueues, read: { $0.text(0) ?? "" }) {
            report.add(
                .deletionUnfinished, .warning,
                "The deletion of the queue '\(name)' has begun and is not finished; if no program is at it, delete the queue "
                    + "again, with force (`--force`) if messages wait or run there.", queue: name)
        }
        report.add(
            .quarantined, .note,
            "COUNT {row that contradicted the rest was|rows that contradicted the rest were} set aside; the view "
                + "penstock_quarantined has {it|them} and says why.",
            count: Int(try connection.integer(countSetAside) ?? 0))
    }

    package static func inspectPlaces(_ connection: Connection, _ report: inout HealthReport) throws {
        try report.find(severalPlacesSQL, .misplaced, "{has|have} no place in the line, or several", connection)
        try report.find(unknownSQL, .misplaced, "{is|are} in line and not in the log", connection)
        try report.find(turnSQL, .misplaced, "{has|have} a turn in a queue that was never fair", connection)
        try report.find(noQueueSQL, .misplaced, "{belongs|belong} to a queue that does not exist", connection)
    }

    private static let withoutDepths = Query(
        "SELECT name FROM penstock_queue WHERE id NOT IN (SELECT queue_id FROM penstock_depth) ORDER BY name")
    private static let lastNumbers = Query(
        """
        SELECT coalesce((SELECT last_sequence FROM penstock_state), -1),
            coalesce((SELECT max(sequence) FROM penstock_log), 0)
        """)
    // One that is copied here says so, too, and waits for the rest.
    private static let deletedQueues = Query(
        """
        SELECT name FROM penstock_queue WHERE deleting <> 0 AND id NOT IN (\(MoveInspection.arriving)) ORDER BY name
        """)
    static let countSetAside = Query("SELECT count(*) FROM penstock_quarantine")
    private static let recorded = DepthCount.columns.map { name, _, _ in
        "SELECT queue_id, '\(name)' AS state, \(name) AS depth FROM penstock_depth"
    }.joined(separator: " UNION ALL ")
    private static let counted = DepthCount.columns.map { name, source, condition in
        """
        SELECT queue_id, '\(name)' AS state, count(*) AS depth FROM \(source.table) AS line
        \(condition.map { "WHERE \($0)" } ?? "") GROUP BY queue_id
        """
    }.joined(separator: " UNION ALL ")
    private static let wrongDepths = Query(
        """
        SELECT queue.name AS queue, recorded.state, recorded.depth AS recorded, coalesce(counted.depth, 0) AS counted
        FROM (\(recorded)) AS recorded
        LEFT JOIN (\(counted)) AS counted ON counted.queue_id = recorded.queue_id AND counted.state = recorded.state
        JOIN penstock_queue AS queue ON queue.id = recorded.queue_id
        WHERE recorded.depth <> coalesce(counted.depth, 0)
        ORDER BY queue.name
        """)
    /// Whether a message of the log has its place in each of the tables, as SQL: found by the table's key.
    package static let places = [
        "scheduled AS line WHERE line.sequence = log.sequence",
        """
        ready AS line WHERE line.queue_id = log.queue_id
            AND line.priority = log.priority AND line.turn = log.turn AND line.sequence = log.sequence
        """,
        "pending AS line WHERE line.queue_id = log.queue_id AND line.sequence = log.sequence",
        "blocked AS line WHERE line.queue_id = log.queue_id AND line.sequence = log.sequence",
        "lease AS line WHERE line.sequence = log.sequence",
        "outcome AS line WHERE line.queue_id = log.queue_id AND line.sequence = log.sequence",
    ].map { "EXISTS (SELECT 1 FROM penstock_\($0))" }
    private static let severalPlacesSQL = """
        SELECT log.sequence FROM penstock_log AS log
        WHERE \(places.map { "CASE WHEN \($0) THEN 1 ELSE 0 END" }.joined(separator: " + ")) <> 1
        """
    private static let unknownSQL = """
        SELECT sequence FROM (
            SELECT sequence, queue_id, priority, CAST(NULL AS BIGINT) AS turn FROM penstock_scheduled
            UNION ALL SELECT sequence, queue_id, priority, NULL FROM penstock_pending
            UNION ALL SELECT sequence, queue_id, priority, NULL FROM penstock_blocked
            UNION ALL SELECT sequence, queue_id, priority, turn FROM penstock_ready
            UNION ALL SELECT sequence, queue_id, priority, NULL FROM penstock_lease
            UNION ALL SELECT sequence, queue_id, NULL, NULL FROM penstock_outcome
        ) AS line
        WHERE NOT EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence
            AND log.queue_id = line.queue_id AND log.priority = coalesce(line.priority, log.priority)
            AND log.turn = coalesce(line.turn, log.turn))
        """
    private static let turnSQL = "SELECT sequence FROM penstock_log WHERE \(hasStrayTurn)"
    /// What the log says of a message that has a turn though its queue has none. That a queue was fair comes behind its messages.
    package static let hasStrayTurn = """
        turn <> 0 AND queue_id IN (SELECT id FROM penstock_queue AS queue WHERE fair = 0
            AND NOT EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id)
            AND id NOT IN (\(MoveInspection.arriving)))
        """
    private static let noQueueSQL = """
        SELECT sequence FROM penstock_log WHERE queue_id NOT IN (SELECT id FROM penstock_queue)
        """
}
