import PenstockCore
import PenstockSQL

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
