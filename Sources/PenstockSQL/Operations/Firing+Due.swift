import PenstockCore

/// Which schedules are due.
extension Firing {
    /// How many schedules are left to other machines. They stay due, before those that are not.
    struct Left {
        var unreckonedCount: Int64 = 0
        var dueCount: Int64 = 0

        mutating func add(_ row: ScheduleRow) {
            if row.nextDue == nil { unreckonedCount += 1 } else { dueCount += 1 }
        }
    }

    /// The first due time after `now` of the queue's schedules, or of all; `nil` when there is none.
    static func nextDue(of queueID: Int64?, after now: Timestamp, _ connection: Connection) throws -> Timestamp? {
        let found =
            if let queueID {
                try connection.integer(nextOfQueue, .integer(queueID), .integer(now.microseconds))
            } else {
                try connection.integer(nextOfAll, .integer(now.microseconds))
            }
        return found.flatMap { $0 == ScheduleRow.never ? nil : Timestamp(microseconds: $0) }
    }

    /// Whether something is due, or is to be reckoned.
    static func hasDue(of queueID: Int64?, at now: Timestamp, _ connection: Connection) throws -> Bool {
        let found =
            if let queueID {
                try connection.integer(anyOfQueue, .integer(queueID), .integer(now.microseconds))
            } else {
                try connection.integer(anyOfAll, .integer(now.microseconds))
            }
        return found == 1
    }

    /// Schedules that are due or to be reckoned, in the order in which they are seen to, each as its row's number.
    static func due(of queueID: Int64?, after left: Left, in transaction: Transaction) throws -> [Int64] {
        let connection = transaction.connection
        let (now, limit) = (Value.integer(transaction.now.microseconds), Value.integer(Int64(stepMax)))
        let (unreckoned, due) = (Value.integer(left.unreckonedCount), Value.integer(left.dueCount))
        // Two statements: with one, SQLite would go through all schedules.
        if let queueID {
            let queue = Value.integer(queueID)
            return try connection.all(unreckonedOfQueue, queue, limit, unreckoned) { $0.integer(0) }
                + connection.all(dueOfQueue, queue, limit, due, now) { $0.integer(0) }
        }
        return try connection.all(unreckonedOfAll, limit, unreckoned) { $0.integer(0) }
            + connection.all(dueOfAll, limit, due, now) { $0.integer(0) }
    }

    // A queue that is being deleted accepts nothing, and its schedules go with it.
    static let open = "queue_id NOT IN (SELECT id FROM penstock_queue WHERE deleting <> 0)"
    // By its name, as SQLite goes through all schedules where statistics say that there are few.
    private static let inOrder = "penstock_schedule INDEXED BY penstock_schedule_next"
    private static let unreckonedOfQueue = Query(
        "SELECT id FROM penstock_schedule WHERE queue_id = ?1 AND paused = 0 AND next_due IS NULL AND \(open) "
            + "ORDER BY id LIMIT ?2 OFFSET ?3")
    private static let dueOfQueue = Query(
        "SELECT id FROM penstock_schedule WHERE queue_id = ?1 AND paused = 0 AND next_due <= ?4 AND \(open) "
            + "ORDER BY next_due, id LIMIT ?2 OFFSET ?3")
    private static let unreckonedOfAll = Query(
        "SELECT id FROM \(inOrder) WHERE paused = 0 AND next_due IS NULL AND \(open) ORDER BY id LIMIT ?1 OFFSET ?2")
    private static let dueOfAll = Query(
        "SELECT id FROM \(inOrder) WHERE paused = 0 AND next_due <= ?3 AND \(open) "
            + "ORDER BY next_due, id LIMIT ?1 OFFSET ?2")
    private static let nextOfQueue = Query(
        "SELECT next_due FROM penstock_schedule WHERE queue_id = ?1 AND paused = 0 AND next_due > ?2 "
            + "ORDER BY next_due LIMIT 1")
    private static let nextOfAll = Query(
        "SELECT next_due FROM \(inOrder) WHERE paused = 0 AND next_due > ?1 ORDER BY next_due LIMIT 1")
    private static let anyOfQueue = Query(
        """
        SELECT EXISTS (SELECT 1 FROM penstock_schedule WHERE queue_id = ?1 AND paused = 0 AND next_due <= ?2)
            OR EXISTS (SELECT 1 FROM penstock_schedule WHERE queue_id = ?1 AND paused = 0 AND next_due IS NULL)
        """)
    private static let anyOfAll = Query(
        """
        SELECT EXISTS (SELECT 1 FROM \(inOrder) WHERE paused = 0 AND next_due <= ?1 AND \(open))
            OR EXISTS (SELECT 1 FROM \(inOrder) WHERE paused = 0 AND next_due IS NULL AND \(open))
        """)
}
