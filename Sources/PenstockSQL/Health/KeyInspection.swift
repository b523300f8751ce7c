package import PenstockCore

/// Whether every unique key is held by the message that has it.
package enum KeyInspection {
    /// - Parameter others: messages that need not hold their keys, as SQL.
    package static func inspect(
        _ connection: Connection, but others: String?, _ report: inout HealthReport
    ) throws {
        try report.find(
            notHeldSQL + (others.map { " AND log.sequence NOT IN (\($0))" } ?? ""), .wrongKeys,
            "{waits or runs and does not hold its|wait or run and do not hold their} unique key", connection)
        try report.find(
            """
            SELECT sequence FROM penstock_unique AS line WHERE NOT \(isRight)
            UNION ALL SELECT sequence FROM penstock_unique_period AS line WHERE \(isWrongPeriod)
                OR queue_id NOT IN (SELECT id FROM penstock_queue)
            """, .wrongKeys, holdsWrongly, connection)
        try report.find(
            QuarantineSource.line.map { "SELECT sequence FROM \($0.table) AS line WHERE \(isWrongWhileWaiting)" }
                .joined(separator: " UNION "),
            .wrongKeys,
            "{is|are} in line with marks that say wrongly whether {it holds its|they hold their} unique key", connection
        )
    }

    /// What is said of messages that hold keys which they must not, as a template of ``CountedText``.
    package static let holdsWrongly =
        "{holds a unique key that is not its own or that it|hold a unique key that is not theirs or that they} should have let go"

    /// Whether message `log` has not ended, as SQL.
    package static let isOpen = """
        NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence)
        """

    /// Whether the row `line` of penstock_unique names a message that can hold that key, as SQL.
    package static let isRight = """
        EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence
            AND log.queue_id = line.queue_id AND log.unique_key = line.unique_key AND \(isOpen)
            AND (log.key_scope IS NULL OR log.key_scope = 0
                AND NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.sequence = log.sequence)))
        """

    /// Whether the row `line` of penstock_unique_period names a message that has another key, or not for a period, as SQL. One
    /// that is forgotten holds its key all the same.
    package static let isWrongPeriod = """
        EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence AND (log.queue_id <> line.queue_id
            OR coalesce(log.unique_key <> line.unique_key, TRUE) OR ifnull(log.key_scope, 0) = 0))
        """

    /// Whether the message of the row `line` holds its key only while it waits, as SQL.
    private static let isWhileWaiting = """
        EXISTS (SELECT 1 FROM penstock_log AS log
            WHERE log.sequence = line.sequence AND log.unique_key IS NOT NULL AND log.key_scope = 0)
        """

    /// The marks for its key that the row `line` is to have, as SQL.
    package static let marks = """
        (CASE WHEN line.sequence IN (SELECT sequence FROM penstock_unique) THEN \(Marks.uniqueKey.rawValue) ELSE 0 END
            + CASE WHEN \(isWhileWaiting) THEN \(Marks.keyWhileWaiting.rawValue) ELSE 0 END)
        """
    private static let allMarks = Marks([.uniqueKey, .keyWhileWaiting]).rawValue

    /// Whether the row `line` has other marks for its key than it is to have, as SQL.
    package static let hasWrongMarks = "marks & \(allMarks) <> \(marks)"

    /// Gives the row `line` the marks that it is to have, as SQL.
    package static let setMarks = "marks = (marks & ~\(allMarks)) | \(marks)"

    /// Of those that hold their keys only while they wait, the marks alone say whether they do.
    private static let isWrongWhileWaiting =
        "(marks & \(Marks.keyWhileWaiting.rawValue) <> 0 OR \(isWhileWaiting)) AND \(hasWrongMarks)"

    private static let notHeldSQL = """
        SELECT log.sequence FROM penstock_log AS log
        LEFT JOIN penstock_outcome AS outcome
            ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
        LEFT JOIN penstock_unique AS held
            ON held.queue_id = log.queue_id AND held.unique_key = log.unique_key AND held.sequence = log.sequence
        WHERE log.unique_key IS NOT NULL AND log.key_scope IS NULL AND outcome.sequence IS NULL AND held.sequence IS NULL
        """
}
