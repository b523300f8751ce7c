import PenstockCore

/// Which queues have something to prune: one statement for all of them, by a reading.
///
/// A store may have thousands of queues, and every process that works prunes once a minute. In the transaction each queue would cost some
/// looks while nobody else can write, and most queues have nothing.
enum Prunable {
    /// The queues that have messages which have expired, unique keys whose periods are over, or messages that have ended and are beyond
    /// what the request, or else the queue's policy, keeps. Tasks that their workflow may still need count as well.
    static func queues(for request: PruneRequest, at now: Timestamp, _ connection: Connection) throws -> [QueueName] {
        guard let retention = request.retention else {
            return try connection.all(byPolicy, .integer(now.microseconds), read: name).sorted()
        }
        let (age, deadAge) = (retention.age.map { now - $0 }, retention.deadAge.map { now - $0 })
        return try connection.all(
            byRequest, .integer(now.microseconds), Value(age?.microseconds), Value(deadAge?.microseconds),
            Value(retention.count.map { Int64($0) }), read: name
        ).sorted()
    }

    private static func name(_ row: PreparedStatement) -> QueueName { QueueName(stored: row.text(0) ?? "") }

    private static let byPolicy = select(
        age: "?1 - queue.retain_age", deadAge: "?1 - queue.retain_dead_age", count: "queue.retain_count")
    private static let byRequest = select(age: "?2", deadAge: "?3", count: "?4")

    // The first row of each index says it. What is compared with NULL is kept for good.
    private static func select(age: String, deadAge: String, count: String) -> Query {
        Query(
            """
            SELECT queue.name FROM penstock_queue AS queue WHERE (SELECT expiry.expires_at FROM penstock_expiry AS expiry
                WHERE expiry.queue_id = queue.id ORDER BY expiry.expires_at LIMIT 1) <= ?1
            OR (SELECT held.until FROM penstock_unique_period AS held INDEXED BY penstock_unique_period_until
                WHERE held.queue_id = queue.id ORDER BY held.until LIMIT 1) <= ?1
            OR (SELECT ended.finished_at FROM penstock_outcome AS ended INDEXED BY penstock_outcome_ended
                WHERE ended.queue_id = queue.id AND ended.state <> 'dead' ORDER BY ended.finished_at LIMIT 1) <= \(age)
            OR (SELECT died.finished_at FROM penstock_outcome AS died INDEXED BY penstock_outcome_died
                WHERE died.queue_id = queue.id AND died.state = 'dead' ORDER BY died.finished_at LIMIT 1) <= \(deadAge)
            OR (SELECT depth.kept FROM penstock_depth AS depth WHERE depth.queue_id = queue.id LIMIT 1) > \(count)
            """)
    }
}
