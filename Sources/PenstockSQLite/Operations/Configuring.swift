import PenstockCore

/// Making, changing and removing queues.
enum Configuring {
    /// Carries out any change but `delete`.
    static func perform(_ change: QueueChange, of queue: QueueName, in transaction: Transaction) throws {
        let connection = transaction.connection
        switch change {
        case .create(let policy, let ifAbsent):
            guard try !transaction.exists(queue) else {
                if ifAbsent { return }
                throw PenstockError(
                    .queueExists, "There is a queue called '\(queue)' already; `penstock queue set` changes its policy."
                )
            }
            try write(policy, by: insert, to: queue, connection)
        case .set(let policy):
            _ = try transaction.account(of: queue)
            try write(policy, by: update, to: queue, connection)
        case .pause:
            _ = try transaction.account(of: queue)
            try connection.run(setPaused, .text(queue.text), 1)
        case .resume:
            _ = try transaction.account(of: queue)
            try connection.run(setPaused, .text(queue.text), 0)
        case .delete:
            preconditionFailure("A queue is deleted in steps.")
        }
        transaction.ringAll(queue)
        try transaction.queuesChanged()
    }

    /// Begins to delete a queue: nothing of it waits or runs from here on, and it is paused.
    static func beginDeletion(of queue: QueueName, force: Bool, in transaction: Transaction) throws {
        let account = try transaction.account(of: queue)
        let open = try transaction.connection.first(countOpen, .integer(account.id)) { $0.integer(0) } ?? 0
        guard open == 0 || force else {
            throw PenstockError(
                .illegalTransition,
                "The queue '\(queue)' has \(open) messages that wait or run; work or cancel them, or use force.")
        }
        try transaction.connection.run(setPaused, .text(queue.text), 1)
        try transaction.queuesChanged()
    }

    /// Deletes up to `limit` messages of a queue and, when none is left, the queue.
    ///
    /// - Returns: whether the queue is gone.
    static func deleteStep(of queue: QueueName, limit: Int, in transaction: Transaction) throws -> Bool {
        let account = try transaction.account(of: queue)
        let connection = transaction.connection
        let sequences = try connection.all(
            selectLog, .integer(account.id), .integer(Int64(limit)), read: { $0.integer(0) })
        for sequence in sequences {
            if let entry = try Line.locate(sequence, in: transaction) {
                try Pruning.forget(entry, in: transaction)
            } else {
                // It has no place in the line, which `penstock doctor` reports. It goes all the same.
                try Pruning.forgetTraces(of: sequence, in: transaction)
            }
        }
        guard sequences.count < limit else { return false }
        try transaction.writeDown()
        try connection.run(deleteQueue, .integer(account.id))
        try transaction.queuesChanged()
        transaction.ringAll(queue)
        return true
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
    private static let countOpen = Query("SELECT scheduled + ready + leased FROM penstock_depth WHERE queue_id = ?1")
    private static let selectLog = Query(
        "SELECT sequence FROM penstock_log WHERE queue_id = ?1 ORDER BY sequence LIMIT ?2")
    private static let deleteQueue = Query("DELETE FROM penstock_queue WHERE id = ?1")
}
