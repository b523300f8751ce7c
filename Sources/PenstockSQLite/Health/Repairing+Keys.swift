import GRDB
import PenstockCore
import PenstockSQL

/// Unique keys.
extension Repairing {
    /// Sees to it that every key is held by one message that has it, and that rows say whether their message does.
    mutating func repairKeys() throws {
        try setAside(
            .wrongKeys, .unique, KeyInspection.holdsWrongly, where: "NOT \(KeyInspection.isRight)",
            because: "The message does not have the key, or has ended or begun.")
        try setAside(
            .wrongKeys, .uniquePeriod, KeyInspection.holdsWrongly, where: KeyInspection.isWrongPeriod,
            because: "The message does not have the key for a period.")
        let again = "COUNT {message holds its|messages hold their} unique key again."
        try change(
            .wrongKeys, again,
            """
            INSERT OR IGNORE INTO penstock_unique (queue_id, unique_key, sequence)
            SELECT log.queue_id, log.unique_key, log.sequence FROM penstock_log AS log
            WHERE log.unique_key IS NOT NULL AND log.key_scope IS NULL AND \(KeyInspection.isOpen) ORDER BY log.sequence
            """)
        try change(
            .wrongKeys,
            "COUNT {message goes on without its|messages go on without their} unique key, which another one holds.",
            """
            UPDATE penstock_log AS log SET unique_key = NULL
            WHERE log.unique_key IS NOT NULL AND log.key_scope IS NULL AND \(KeyInspection.isOpen)
            AND NOT EXISTS (SELECT 1 FROM penstock_unique AS held WHERE held.queue_id = log.queue_id
                AND held.unique_key = log.unique_key AND held.sequence = log.sequence)
            """)
        for table in QuarantineSource.line.filter({ $0 != .lease }).map(\.table) {
            // One that holds its key only while it waits may have found it taken. Its mark says that it had not.
            try change(
                .wrongKeys, again,
                """
                INSERT OR IGNORE INTO penstock_unique (queue_id, unique_key, sequence)
                SELECT log.queue_id, log.unique_key, log.sequence FROM \(table) AS line
                JOIN penstock_log AS log ON log.sequence = line.sequence
                WHERE line.marks & \(Marks.uniqueKey.rawValue) AND log.unique_key IS NOT NULL AND log.key_scope = 0
                ORDER BY log.sequence
                """)
        }
        for table in QuarantineSource.line.map(\.table) {
            try change(
                .wrongKeys,
                "COUNT {row of \(table) says again whether its|rows of \(table) say again whether their} "
                    + "message holds a key.",
                "UPDATE \(table) AS line SET \(KeyInspection.setMarks) WHERE \(KeyInspection.hasWrongMarks)")
        }
    }
}
