import GRDB
import PenstockCore

/// Whether the headers and the times in rows are ones that can be read.
enum ContentInspection {
    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        try LineInspection.find(
            "SELECT sequence FROM penstock_log WHERE \(unreadableHeaders)", .wrongHeaders,
            "have headers that cannot be read, and count as none", database, &report)
        for (table, column, _) in times {
            let count =
                try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE \(isImpossible(column))") ?? 0
            if count == 0 { continue }
            report.findings.append(
                HealthFinding(
                    .wrongTimes, .error,
                    "\(count) rows of \(table) have a time \(column) that cannot be; run `penstock doctor --repair`."))
        }
    }

    /// What the trigger for plain INSERTs asks of headers, turned over.
    static let unreadableHeaders = """
        headers IS NOT NULL AND CASE WHEN json_valid(headers) THEN json_type(headers) <> 'object'
            OR EXISTS (SELECT 1 FROM json_each(headers) WHERE type <> 'text') ELSE 1 END
        """

    /// The columns with times, and where rows of the table can be set aside.
    static let times: [(table: String, column: String, source: QuarantineSource?)] = [
        ("penstock_log", "enqueued_at", .log), ("penstock_scheduled", "due_at", .scheduled),
        ("penstock_lease", "claimed_at", .lease), ("penstock_outcome", "finished_at", .outcome),
        ("penstock_cursor", "moved_at", .cursor), ("penstock_attempt", "started_at", nil),
        ("penstock_attempt", "ended_at", nil), ("penstock_worker", "started_at", nil),
    ]

    /// Whether a column's time is no moment, as SQL.
    static func isImpossible(_ column: String) -> String {
        "\(column) NOT BETWEEN \(StoredRange.times.lowerBound) AND \(StoredRange.times.upperBound)"
    }
}
