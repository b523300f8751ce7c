import GRDB
import PenstockCore
import PenstockSQL

/// Whether the headers and the times in rows are ones that can be read.
enum ContentInspection {
    static func inspect(_ database: Database, at now: Timestamp, _ report: inout HealthReport) throws {
        try report.find(
            "SELECT sequence FROM penstock_log WHERE \(unreadableHeaders)", .wrongHeaders,
            "{has|have} headers that cannot be read, and count as none", SQLiteConnection(database))
        try report.find(
            "SELECT sequence FROM penstock_log WHERE \(forbiddenHeaders)", .wrongHeaders,
            "{has|have} headers that break the rules (names, zero bytes or size), and no command can be given them",
            SQLiteConnection(database))
        for (table, column, _) in times {
            report.add(
                .wrongTimes, .error,
                "COUNT {row of \(table) has|rows of \(table) have} a time \(column) that cannot be; run `penstock doctor "
                    + "--repair`.",
                count: try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE \(isImpossible(column))")
                    ?? 0)
        }
        report.add(
            .wrongTimes, .error,
            "COUNT {group is|groups are} put off for longer than anybody can put one off; run `penstock doctor --repair`.",
            count: try Int.fetchOne(
                database, sql: "SELECT count(*) FROM penstock_group_rate WHERE \(isHeldForGood(at: now))") ?? 0)
    }

    /// Headers that are no JSON object of strings, as the trigger for plain INSERTs asks.
    static let unreadableHeaders = """
        headers IS NOT NULL AND CASE WHEN json_valid(headers) THEN json_type(headers) <> 'object'
            OR EXISTS (SELECT 1 FROM json_each(headers) WHERE type <> 'text') ELSE 1 END
        """

    /// Headers that can be read and that `HeaderRules` refuses, as the trigger for plain INSERTs asks.
    static let forbiddenHeaders = #"""
        headers IS NOT NULL AND CASE WHEN \#(unreadableHeaders) THEN 0
            ELSE instr(replace(headers, '\\', ''), '\u0000') > 0 OR (
                SELECT count(*) > \#(Limits.headerCountMax)
                    OR total(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))) > \#(Limits.headerBytesMax)
                    OR count(*) > count(DISTINCT upper(replace(replace(key, '-', '_'), '.', '_')))
                    OR coalesce(max(length(key) NOT BETWEEN 1 AND \#(Limits.headerNameBytesMax)
                        OR key GLOB '*[^-A-Za-z0-9_.]*'), 0)
                FROM json_each(headers)) END
        """#

    /// The columns with times, and where rows of the table can be set aside.
    static let times: [(table: String, column: String, source: QuarantineSource?)] = [
        ("penstock_log", "enqueued_at", .log), ("penstock_scheduled", "due_at", .scheduled),
        ("penstock_lease", "claimed_at", .lease), ("penstock_outcome", "finished_at", .outcome),
        ("penstock_unique_period", "until", .uniquePeriod), ("penstock_cursor", "moved_at", .cursor),
        ("penstock_attempt", "started_at", nil),
        ("penstock_attempt", "ended_at", nil), ("penstock_worker", "started_at", nil),
        ("penstock_workflow", "started_at", nil), ("penstock_workflow", "cancelled_at", nil),
        ("penstock_task", "due_at", nil),
        ("penstock_step", "recorded_at", nil), ("penstock_event", "emitted_at", nil),
        ("penstock_group_pause", "paused_at", nil), ("penstock_log", expiry, .log),
    ]

    /// The column with the time from which on a message may not start any more.
    static let expiry = "expires_at"

    /// Whether a column's time is no moment, as SQL.
    static func isImpossible(_ column: String) -> String {
        "\(column) NOT BETWEEN \(StoredRange.times.lowerBound) AND \(StoredRange.times.upperBound)"
    }

    /// Whether a row of `penstock_group_rate` puts its group off until a time that is a moment, and that no delay comes to, as SQL. It may have
    /// been written by a clock that was ahead, and so twice the longest delay is allowed.
    static func isHeldForGood(at now: Timestamp) -> String {
        "held_until > \(now.microseconds + 2 * Limits.delayMax.wholeMicroseconds)"
    }
}
