import GRDB
import PenstockCore

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
            report.findings.append(
                HealthFinding(
                    .strayCursor, .error, "The cursor '\(name)' \(what).", queue: queue.map { QueueName(stored: $0) }))
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
