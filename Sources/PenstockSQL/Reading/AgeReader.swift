import PenstockCore

/// Reads since when the oldest messages of a queue are where they are.
enum AgeReader {
    /// How many ready messages of one priority that came back are passed over to find one that did not. They are in front of it.
    private static let passedMax = 1000

    /// Since when the message is ready that is so the longest; `nil` when none is.
    static func oldestReady(_ queueID: Int64, at now: Timestamp, _ connection: Connection) throws -> Timestamp? {
        let id = Value.integer(queueID)
        let due = try Claiming.firstDue(of: queueID, from: .min, connection).flatMap { first in
            first <= now ? first.microseconds : nil
        }
        var moments = [
            due, try connection.integer(firstBack, id), try connection.integer(firstAcceptedWithTurn, id),
        ]
        for priority in try SequenceSource.priorities(of: queueID, connection) {
            moments.append(try connection.integer(firstAccepted, id, .integer(priority)))
        }
        return moments.compactMap(\.self).min().map(Timestamp.init(microseconds:))
    }

    /// When the oldest lease of each queue was claimed, by the ids of those that have one.
    static func oldestLeases(_ connection: Connection) throws -> [Int64: Timestamp] {
        let leases = try connection.all(selectLeases) { ($0.integer(0), Timestamp(microseconds: $0.integer(1))) }
        return Dictionary(leases, uniquingKeysWith: min)
    }

    private static let firstBack = Query(
        """
        SELECT ready_since FROM penstock_ready WHERE queue_id = ?1 AND ready_since IS NOT NULL
        ORDER BY ready_since LIMIT 1
        """)
    // Of those that are ready since they were accepted the first in the log is the oldest. It is found before the log is asked: the order
    // of a table within a join is the planner's.
    private static let firstAccepted = acceptedFirst(of: "penstock_ready", where: "priority = ?2 AND turn = 0")
    private static let firstAcceptedWithTurn = acceptedFirst(
        of: "penstock_ready INDEXED BY penstock_ready_sequence", where: "turn <> 0")

    private static func acceptedFirst(of table: String, where condition: String) -> Query {
        Query(
            """
            SELECT enqueued_at FROM penstock_log WHERE sequence = (
                SELECT sequence FROM (
                    SELECT sequence, ready_since FROM \(table) WHERE queue_id = ?1 AND \(condition)
                    ORDER BY sequence LIMIT \(passedMax)
                ) AS found WHERE ready_since IS NULL LIMIT 1)
            """)
    }

    // All leases: no more than what is in hands.
    private static let selectLeases = Query("SELECT queue_id, claimed_at FROM penstock_lease")
}
