import GRDB
import PenstockCore
import PenstockSQL

/// Whether the messages that wait and expire, and no others, have rows in `penstock_expiry` that say when.
enum ExpiryInspection {
    /// The tables with messages that may expire where they are.
    static let waiting: [QuarantineSource] = [.pending, .scheduled, .blocked, .ready]

    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        try LineInspection.find(
            withoutTimeSQL, .wrongExpiry, "{is|are} to expire, and the log does not say when", database, &report)
        try LineInspection.find(
            missing(selecting: "line.sequence"), .wrongExpiry,
            "{waits and would not expire when it has|wait and would not expire when they have} to", database, &report)
        try LineInspection.find(
            "SELECT sequence FROM penstock_expiry AS expiry WHERE \(isStray)", .wrongExpiry,
            "{is to expire and does not wait, or expires|are to expire and do not wait, or expire} at no time",
            database,
            &report)
    }

    /// Messages with the mark that have no time to expire at.
    private static let withoutTimeSQL = (waiting + [.lease]).map { source in
        """
        SELECT line.sequence FROM \(source.table) AS line
        JOIN penstock_log AS log ON log.sequence = line.sequence WHERE \(isMarkWrong)
        """
    }.joined(separator: " UNION ")

    /// Whether the row `line` says that its message expires, and `log` does not.
    static let isMarkWrong = "line.marks & \(Marks.expiry.rawValue) AND log.expires_at IS NULL"

    /// What `columns` are of the messages, `line` and `log`, that have no row which says what the log says.
    static func missing(selecting columns: String) -> String {
        waiting.map { source in
            """
            SELECT \(columns) FROM \(source.table) AS line
            JOIN penstock_log AS log ON log.sequence = line.sequence AND log.expires_at IS NOT NULL
            LEFT JOIN penstock_expiry AS expiry ON expiry.sequence = line.sequence
            WHERE line.marks & \(Marks.expiry.rawValue)
                AND (expiry.queue_id IS NOT log.queue_id OR expiry.expires_at IS NOT log.expires_at)
            """
        }.joined(separator: " UNION ")
    }

    /// Whether no message that waits and expires has the row `expiry`.
    static let isStray = waiting.map { source in
        """
        NOT EXISTS (SELECT 1 FROM \(source.table) AS line WHERE \(place(source))
            AND line.marks & \(Marks.expiry.rawValue))
        """
    }.joined(separator: " AND ")

    /// Where the message of `expiry` would be, in the words of each table's key.
    private static func place(_ source: QuarantineSource) -> String {
        switch source {
        case .scheduled: "line.sequence = expiry.sequence"
        case .ready:
            """
            (line.queue_id, line.priority, line.turn, line.sequence) = (SELECT log.queue_id, log.priority, log.turn,
                log.sequence FROM penstock_log AS log WHERE log.sequence = expiry.sequence)
            """
        default:
            """
            line.sequence = expiry.sequence
                AND line.queue_id = (SELECT log.queue_id FROM penstock_log AS log WHERE log.sequence = expiry.sequence)
            """
        }
    }
}

/// Messages that expire.
extension Repairing {
    /// Makes marks and rows agree with the log. Every message has its place by now.
    mutating func repairExpiry() throws {
        for source in ExpiryInspection.waiting + [.lease] {
            try change(
                .wrongExpiry,
                "COUNT {row|rows} of \(source.table) {says|say} no more that {its message expires|their messages expire}.",
                """
                UPDATE \(source.table) AS line SET marks = line.marks & ~\(Marks.expiry.rawValue)
                FROM penstock_log AS log WHERE log.sequence = line.sequence AND \(ExpiryInspection.isMarkWrong)
                """)
        }
        try change(
            .wrongExpiry,
            "COUNT {row|rows} of penstock_expiry {was|were} removed, whose {message does|messages do} not wait.",
            "DELETE FROM penstock_expiry AS expiry WHERE \(ExpiryInspection.isStray)")
        try change(
            .wrongExpiry, "COUNT {message expires|messages expire} again when the log says.",
            """
            INSERT OR REPLACE INTO penstock_expiry (sequence, queue_id, expires_at)
            \(ExpiryInspection.missing(selecting: "log.sequence, log.queue_id, log.expires_at"))
            """)
    }
}
