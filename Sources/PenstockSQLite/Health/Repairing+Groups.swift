import GRDB
import PenstockCore
import PenstockSQL

/// Groups and their permits.
extension Repairing {
    /// Makes the rows agree with the log, and notes all groups where that changed one. What follows is left to any claim.
    mutating func repairGroups() throws {
        for source in QuarantineSource.line {
            try change(
                .wrongPermits, "COUNT {row|rows} of \(source.table) got {its|their} marks anew.",
                """
                UPDATE \(source.table) AS line SET marks = (line.marks & ~\(Marks.group.rawValue))
                    | (\(Marks.group.rawValue) * (log.group_key IS NOT NULL))
                FROM penstock_log AS log WHERE log.sequence = line.sequence AND \(GroupInspection.isWrongMark)
                """)
        }
        try change(
            .wrongPermits, "COUNT {blocked message|blocked messages} got the group that the log has.",
            """
            UPDATE OR IGNORE penstock_blocked AS line SET group_key = log.group_key FROM penstock_log AS log
            WHERE log.sequence = line.sequence AND log.group_key <> line.group_key
            """)
        try change(
            .wrongPermits, "COUNT {blocked message that has|blocked messages that have} no group {is|are} ready.",
            """
            INSERT OR IGNORE INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
            SELECT line.queue_id, line.priority, log.turn, line.sequence, line.attempt, line.forgiven, line.marks,
                (SELECT now FROM penstock_now)
            FROM penstock_blocked AS line JOIN penstock_log AS log ON log.sequence = line.sequence
            WHERE log.group_key IS NULL
            """)
        try database.execute(
            sql: """
                DELETE FROM penstock_blocked AS line WHERE \(Self.isReady);
                INSERT OR IGNORE INTO penstock_fair (queue_id, priority, turn)
                    SELECT id, 0, 1 FROM penstock_queue WHERE fair AND id NOT IN (\(MoveInspection.arriving));
                """)
        // Last the groups that are to be looked at: to resume one adds it.
        for table in ["group_pause", "rate", "group_rate", "share", "weight", "regroup"] {
            try database.execute(
                sql: "DELETE FROM penstock_\(table) WHERE queue_id NOT IN (SELECT id FROM penstock_queue)")
        }
        // On a clock that is none; the next claim reckons them anew.
        try change(
            .wrongPermits, "COUNT {queue has|queues have} the clock of {its|their} groups' rates begun anew.",
            """
            INSERT INTO penstock_rate (queue_id, tat, clock, wall_offset)
            SELECT queue.id, NULL, '', 0 FROM penstock_queue AS queue WHERE \(GroupInspection.unknownClock)
            """)
        try change(
            .wrongPermits,
            "COUNT {permit|permits} of messages that the log does not have with that group {was|were} removed.",
            """
            DELETE FROM penstock_permit AS permit WHERE NOT EXISTS (SELECT 1 FROM penstock_log AS log
                WHERE log.sequence = permit.sequence AND log.queue_id = permit.queue_id
                    AND log.group_key = permit.group_key)
            """)
        try change(
            .wrongPermits, "COUNT {message has a permit of its group|messages have permits of their groups} again.",
            """
            INSERT INTO penstock_permit (queue_id, group_key, sequence)
            SELECT log.queue_id, log.group_key, log.sequence \(GroupInspection.withoutPermit)
            """)
        // Which permits are too many, and which are free, the next claim finds out.
        try change(
            .wrongPermits, "COUNT {group has|groups have} {its|their} permits given out anew by the next claim.",
            """
            INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
            SELECT queue_id, group_key FROM penstock_log WHERE group_key IS NOT NULL AND sequence IN (
                \(GroupInspection.strayPermitsSQL) UNION \(GroupInspection.blockedInVainSQL)
                UNION \(GroupInspection.tooManySQL))
            """)
    }
}
