package import PenstockCore

/// Whether the messages that wait and expire, and no others, have rows in `penstock_expiry` that say when.
package enum ExpiryInspection {
    /// The tables with messages that may expire where they are.
    package static let waiting: [QuarantineSource] = [.pending, .scheduled, .blocked, .ready]

    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        try report.find(
            withoutTimeSQL, .wrongExpiry, "{is|are} to expire, and the log does not say when", connection)
        try report.find(
            missing(selecting: "line.sequence"), .wrongExpiry,
            "{waits and would not expire when it has|wait and would not expire when they have} to", connection)
        try report.find(
            "SELECT sequence FROM penstock_expiry AS expiry WHERE \(isStray)", .wrongExpiry,
            "{is to expire and does not wait, or expires|are to expire and do not wait, or expire} at no time",
            connection)
    }

    /// Messages with the mark that have no time to expire at.
    private static let withoutTimeSQL = (waiting + [.lease]).map { source in
        """
        SELECT line.sequence FROM \(source.table) AS line
        JOIN penstock_log AS log ON log.sequence = line.sequence WHERE \(isMarkWrong)
        """
    }.joined(separator: " UNION ")

    /// Whether the row `line` says that its message expires, and `log` does not.
    package static let isMarkWrong = "line.marks & \(Marks.expiry.rawValue) <> 0 AND log.expires_at IS NULL"

    /// What `columns` are of the messages, `line` and `log`, that have no row which says what the log says.
    package static func missing(selecting columns: String) -> String {
        waiting.map { source in
            """
            SELECT \(columns) FROM \(source.table) AS line
            JOIN penstock_log AS log ON log.sequence = line.sequence AND log.expires_at IS NOT NULL
            LEFT JOIN penstock_expiry AS expiry ON expiry.sequence = line.sequence
            WHERE line.marks & \(Marks.expiry.rawValue) <> 0
                AND (expiry.sequence IS NULL OR expiry.queue_id <> log.queue_id OR expiry.expires_at <> log.expires_at)
            """
        }.joined(separator: " UNION ")
    }

    /// Whether no message that waits and expires has the row `expiry`.
    package static let isStray = waiting.map { source in
        "NOT EXISTS (SELECT 1 FROM \(place(source)) AND line.marks & \(Marks.expiry.rawValue) <> 0)"
    }.joined(separator: " AND ")

    /// Where the message of `expiry` would be, in the words of each table's key. A server searches no index for a row of several values
    /// that a query gives: it would go through all that is ready for each message.
    private static func place(_ source: QuarantineSource) -> String {
        switch source {
        case .scheduled: "\(source.table) AS line WHERE line.sequence = expiry.sequence"
        case .ready:
            """
            penstock_log AS log CROSS JOIN \(source.table) AS line
                ON line.queue_id = log.queue_id AND line.priority = log.priority AND line.turn = log.turn
                AND line.sequence = log.sequence WHERE log.sequence = expiry.sequence
            """
        default:
            """
            \(source.table) AS line WHERE line.sequence = expiry.sequence
                AND line.queue_id = (SELECT log.queue_id FROM penstock_log AS log WHERE log.sequence = expiry.sequence)
            """
        }
    }
}
