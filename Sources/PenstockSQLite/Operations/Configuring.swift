import PenstockCore

/// Making and changing queues.
enum Configuring {
    /// Carries out any change but `delete`.
    static func perform(_ change: QueueChange, of queue: QueueName, in transaction: Transaction) throws {
        let connection = transaction.connection
        switch change {
        case .create(let policy, let ifAbsent):
            guard try !transaction.exists(queue) else {
                try transaction.account(of: queue).refuseDeleting()
                if ifAbsent { return }
                throw PenstockError(
                    .queueExists, "There is a queue called '\(queue)' already; `penstock queue set` changes its policy."
                )
            }
            try write(policy, by: insert, to: queue, connection)
        case .set(let policy):
            try transaction.account(of: queue).refuseDeleting()
            try write(policy, by: update, to: queue, connection)
        case .pause:
            try transaction.account(of: queue).refuseDeleting()
            try connection.run(setPaused, .text(queue.text), 1)
        case .resume:
            try transaction.account(of: queue).refuseDeleting()
            try connection.run(setPaused, .text(queue.text), 0)
        case .delete:
            preconditionFailure("A queue is deleted in steps.")
        }
        transaction.ringAll(queue)
        try transaction.queuesChanged()
    }

    private static func write(
        _ policy: QueuePolicy, by query: Query, to queue: QueueName, _ connection: Connection
    ) throws {
        let retry = policy.retry
        let retention = policy.retention
        try connection.run(
            query, .text(queue.text), Value(policy.capacity.map { Int64($0.count) }),
            Value(policy.capacity?.whenFull.rawValue), .integer(Int64(retry.attemptsMax)),
            .integer(retry.base.wholeMicroseconds), .real(retry.factor), .integer(retry.cap.wholeMicroseconds),
            .real(retry.jitter), Value(retention.age?.wholeMicroseconds), Value(retention.count.map(Int64.init)),
            Value(retention.deadAge?.wholeMicroseconds))
    }

    private static let insert = Query(
        """
        INSERT INTO penstock_queue (name, capacity, when_full, attempts_max, retry_base, retry_factor, retry_cap,
            retry_jitter, retain_age, retain_count, retain_dead_age)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        """)
    private static let update = Query(
        """
        UPDATE penstock_queue SET capacity = ?2, when_full = ?3, attempts_max = ?4, retry_base = ?5,
            retry_factor = ?6, retry_cap = ?7, retry_jitter = ?8, retain_age = ?9, retain_count = ?10,
            retain_dead_age = ?11
        WHERE name = ?1
        """)
    private static let setPaused = Query("UPDATE penstock_queue SET paused = ?2 WHERE name = ?1")
}
