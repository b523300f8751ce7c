import PenstockCore

/// Reads since when the oldest messages of a queue are where they are.
enum AgeReader {
    /// How many ready messages of one priority that came back are passed over to find one that did not. They are in front of it.
    private static let passedMax = 1000

    /// Since when the message of each of these queues is ready that is so the longest. Queues without one are left out.
    static func oldestReady(
        _ queueIDs: [Int64], at now: Timestamp, _ connection: Connection
    ) throws -> [Int64: Timestamp] {
        if queueIDs.isEmpty { return [:] }
        let found = try connection.all(selectOldest, .sequences(queueIDs)) { row in
            let due = row.optionalInteger(1).flatMap { $0 <= now.microseconds ? $0 : nil }
            let moments = [due, row.optionalInteger(2), row.optionalInteger(3), row.optionalInteger(4)]
            return (id: row.integer(0), moment: moments.compactMap(\.self).min())
        }
        return Dictionary(
            found.compactMap { id, moment in moment.map { (id, Timestamp(microseconds: $0)) } }, uniquingKeysWith: min)
    }

    /// When the oldest lease of each queue was claimed, by the ids of those that have one.
    static func oldestLeases(_ connection: Connection) throws -> [Int64: Timestamp] {
        let leases = try connection.all(selectLeases) { ($0.integer(0), Timestamp(microseconds: $0.integer(1))) }
        return Dictionary(leases, uniquingKeysWith: min)
    }

    // What is due, what came back, what was accepted with a turn, and what was accepted without: of all queues in one statement, as a server
    // may be far away.
    private static let selectOldest = Query(
        """
        SELECT asked.value,
            (SELECT due_at FROM penstock_scheduled WHERE queue_id = asked.value ORDER BY due_at LIMIT 1),
            (SELECT ready_since FROM penstock_ready WHERE queue_id = asked.value AND ready_since IS NOT NULL
                ORDER BY ready_since LIMIT 1),
            \(acceptedFirst(of: "penstock_ready INDEXED BY penstock_ready_sequence", where: "turn <> 0")),
            (WITH RECURSIVE line (priority) AS (
                SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = asked.value)
                UNION ALL
                SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = asked.value AND priority < line.priority)
                FROM line WHERE line.priority IS NOT NULL
            )
            SELECT min(\(acceptedFirst(of: "penstock_ready", where: "priority = line.priority AND turn = 0"))) FROM line)
        FROM json_each(?1) AS asked
        """)

    // Of those that are ready since they were accepted the first in the log is the oldest. It is found before the log is asked: the order
    // of a table within a join is the planner's.
    private static func acceptedFirst(of table: String, where condition: String) -> String {
        """
        (SELECT enqueued_at FROM penstock_log WHERE sequence = (
            SELECT sequence FROM (
                SELECT sequence, ready_since FROM \(table) WHERE queue_id = asked.value AND \(condition)
                ORDER BY sequence LIMIT \(passedMax)
            ) AS found WHERE ready_since IS NULL LIMIT 1))
        """
    }

    // All leases: no more than what is in hands.
    private static let selectLeases = Query("SELECT queue_id, claimed_at FROM penstock_lease")
}
