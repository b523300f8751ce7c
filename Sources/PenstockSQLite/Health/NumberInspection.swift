import GRDB
import PenstockCore
import PenstockSQL

/// Whether the numbers in the file are ones that a program can have counted.
enum NumberInspection {
    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        if let last = try Int64.fetchOne(database, sql: "SELECT last_sequence FROM penstock_state"),
            !(0...SequenceJump.lastMax).contains(last)
        {
            report.add(
                .wrongSequence, .error,
                "The last sequence number given is said to be \(last), which cannot be; run `penstock doctor --repair`."
            )
        }
        for (what, sql) in counts {
            report.add(
                .wrongNumbers, .error, "COUNT \(what) that cannot be; run `penstock doctor --repair`.",
                count: try Int.fetchOne(database, sql: sql) ?? 0)
        }
    }

    // What a row cannot have, as SQL.
    static let hasWrongSequence = "sequence NOT BETWEEN 1 AND \(SequenceJump.lastMax)"
    static let hasWrongAttempts =
        "attempt NOT BETWEEN 0 AND \(StoredRange.attempts.upperBound) OR forgiven NOT BETWEEN 0 AND attempt"
    static let hasWrongCounters = ["policy_version", "flush_count"]
        .map { "\($0) NOT BETWEEN 0 AND \(StoredRange.counts.upperBound)" }.joined(separator: " OR ")

    private static let counts = [
        (
            "{message has|messages have} a sequence number",
            "SELECT count(*) FROM penstock_log WHERE \(hasWrongSequence)"
        ),
        (
            "{message in line has|messages in line have} a number of attempts",
            QuarantineSource.line.map { "SELECT sequence FROM \($0.table) WHERE \(hasWrongAttempts)" }
                .joined(separator: " UNION ALL ").counted
        ),
        (
            "{queue has|queues have} totals",
            """
            SELECT count(*) FROM penstock_depth
            WHERE \(DepthCount.totals.map { "\($0) <> \(DepthCount.sound($0))" }.joined(separator: " OR "))
            """
        ),
        (
            "{counter of changes stands|counters of changes stand} at a number",
            "SELECT count(*) FROM penstock_state WHERE \(hasWrongCounters)"
        ),
    ]
}

extension String {
    /// SQL that counts the rows of this SQL.
    fileprivate var counted: String { "SELECT count(*) FROM (\(self))" }
}
