import GRDB
import PenstockCore

/// Whether every message has its one place, and the numbers agree with the rows.
enum LineInspection {
    /// Of one kind of fault so many examples are named at most.
    private static let examplesMax = 5

    static func inspectDepths(_ database: Database, _ report: inout HealthReport) throws {
        for row in try Row.fetchAll(database, sql: wrongDepthsSQL) {
            let queue: String = row["queue"]
            let said = CountedText.sentence("COUNT {message|messages} \(row["state"] as String)", row["recorded"])
            report.add(
                .wrongDepths, .error,
                "The queue '\(queue)' is said to have \(said), and has \(row["counted"] as Int).", queue: queue)
        }
        let without = try String.fetchAll(
            database,
            sql: "SELECT name FROM penstock_queue WHERE id NOT IN (SELECT queue_id FROM penstock_depth) ORDER BY name")
        for name in without {
            report.add(.wrongDepths, .error, "The queue '\(name)' has lost its row in penstock_depth.", queue: name)
        }
        let last = try Row.fetchOne(
            database,
            sql: """
                SELECT coalesce((SELECT last_sequence FROM penstock_state), -1) AS given,
                    coalesce((SELECT max(sequence) FROM penstock_log), 0) AS used
                """)
        if let last, (last["given"] as Int) < (last["used"] as Int) {
            report.add(
                .wrongSequence, .error,
                "The last sequence number given is said to be \(last["given"] as Int), and the log has one of "
                    + "\(last["used"] as Int); run `penstock doctor --repair`.")
        }
    }

    /// What is neither wrong nor as it always is.
    static func inspectLeftovers(_ database: Database, _ report: inout HealthReport) throws {
        // One that is copied here says so, too, and waits for the rest.
        let deleting = "deleting AND id NOT IN (SELECT queue_id FROM penstock_arriving)"
        for name in try String.fetchAll(
            database, sql: "SELECT name FROM penstock_queue WHERE \(deleting) ORDER BY name")
        {
            report.add(
                .deletionUnfinished, .warning,
                "The deletion of the queue '\(name)' has begun and is not finished; if no program is at it, delete the queue "
                    + "again.", queue: name)
        }
        report.add(
            .quarantined, .note,
            "COUNT {row that contradicted the rest was|rows that contradicted the rest were} set aside; the view "
                + "penstock_quarantined has {it|them} and says why.",
            count: try Int.fetchOne(database, sql: "SELECT count(*) FROM penstock_quarantine") ?? 0)
    }

    static func inspectPlaces(_ database: Database, _ report: inout HealthReport) throws {
        try find(severalPlacesSQL, .misplaced, "{has|have} no place in the line, or several", database, &report)
        try find(unknownSQL, .misplaced, "{is|are} in line and not in the log", database, &report)
        try find(noQueueSQL, .misplaced, "{belongs|belong} to a queue that does not exist", database, &report)
    }

    /// Reports the messages whose numbers `sql` gives, if there are any. What is wrong is a template of ``CountedText``.
    static func find(
        _ sql: String, _ kind: HealthFinding.Kind, _ what: String, _ database: Database, _ report: inout HealthReport
    ) throws {
        let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM (\(sql))") ?? 0
        if count == 0 { return }
        let examples = try Int64.fetchAll(database, sql: "\(sql) ORDER BY 1 LIMIT \(examplesMax)")
        let end = count > examples.count ? ", …." : "."
        report.add(
            kind, .error,
            "COUNT {message|messages} \(what): \(examples.map(String.init).joined(separator: ", "))\(end)", count: count
        )
    }

    private static let wrongDepthsSQL = """
        SELECT queue.name AS queue, recorded.state, recorded.depth AS recorded, coalesce(counted.depth, 0) AS counted
        FROM (
            SELECT queue_id, 'scheduled' AS state, scheduled AS depth FROM penstock_depth
            UNION ALL SELECT queue_id, 'pending', pending FROM penstock_depth
            UNION ALL SELECT queue_id, 'blocked', blocked FROM penstock_depth
            UNION ALL SELECT queue_id, 'ready', ready FROM penstock_depth
            UNION ALL SELECT queue_id, 'leased', leased FROM penstock_depth
            UNION ALL SELECT queue_id, 'dead', dead FROM penstock_depth
            UNION ALL SELECT queue_id, 'kept', kept FROM penstock_depth
        ) AS recorded
        LEFT JOIN (
            SELECT queue_id, 'scheduled' AS state, count(*) AS depth FROM penstock_scheduled GROUP BY queue_id
            UNION ALL SELECT queue_id, 'pending', count(*) FROM penstock_pending GROUP BY queue_id
            UNION ALL SELECT queue_id, 'blocked', count(*) FROM penstock_blocked GROUP BY queue_id
            UNION ALL SELECT queue_id, 'ready', count(*) FROM penstock_ready GROUP BY queue_id
            UNION ALL SELECT queue_id, 'leased', count(*) FROM penstock_lease GROUP BY queue_id
            UNION ALL SELECT queue_id, 'dead', count(*) FROM penstock_outcome WHERE state = 'dead' GROUP BY queue_id
            UNION ALL SELECT queue_id, 'kept', count(*) FROM penstock_outcome WHERE state <> 'dead' GROUP BY queue_id
        ) AS counted ON counted.queue_id = recorded.queue_id AND counted.state = recorded.state
        JOIN penstock_queue AS queue ON queue.id = recorded.queue_id
        WHERE recorded.depth <> coalesce(counted.depth, 0)
        ORDER BY queue.name
        """
    private static let severalPlacesSQL = """
        SELECT log.sequence FROM penstock_log AS log WHERE
            EXISTS (SELECT 1 FROM penstock_scheduled AS s WHERE s.sequence = log.sequence)
            + EXISTS (SELECT 1 FROM penstock_ready AS r WHERE r.queue_id = log.queue_id
                AND r.priority = log.priority AND r.turn = log.turn AND r.sequence = log.sequence)
            + EXISTS (SELECT 1 FROM penstock_pending AS p WHERE p.queue_id = log.queue_id
                AND p.sequence = log.sequence)
            + EXISTS (SELECT 1 FROM penstock_blocked AS b WHERE b.queue_id = log.queue_id
                AND b.sequence = log.sequence)
            + EXISTS (SELECT 1 FROM penstock_lease AS l WHERE l.sequence = log.sequence)
            + EXISTS (SELECT 1 FROM penstock_outcome AS o WHERE o.queue_id = log.queue_id
                AND o.sequence = log.sequence) <> 1
        """
    private static let unknownSQL = """
        SELECT sequence FROM (
            SELECT sequence, queue_id, priority, NULL AS turn FROM penstock_scheduled
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
    private static let noQueueSQL = """
        SELECT sequence FROM penstock_log WHERE queue_id NOT IN (SELECT id FROM penstock_queue)
        """
}

/// Whether every cursor is in the log of a queue that exists.
enum CursorInspection {
    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        for row in try Row.fetchAll(database, sql: strayedSQL) {
            let name: String = row["cursor"]
            let queue: String? = row["queue"]
            let what =
                queue == nil
                ? "belongs to a queue that does not exist; `penstock doctor --repair` sets it aside"
                : "stands at \(row["sequence"] as Int64), which no log has come to; `penstock doctor --repair` puts it at the end"
            report.add(.strayCursor, .error, "The cursor '\(name)' \(what).", queue: queue)
        }
    }

    /// At most as many as one queue may have: each is a finding of its own.
    private static let strayedSQL = """
        SELECT cursor.name AS cursor, queue.name AS queue, cursor.sequence FROM penstock_cursor AS cursor
        LEFT JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
        WHERE queue.id IS NULL OR cursor.sequence > (SELECT last_sequence FROM penstock_state)
        ORDER BY queue.name, cursor.name LIMIT \(Limits.cursorCountMax)
        """
}
