import PenstockCore

/// Making and changing queues.
enum Configuring {
    /// Carries out any change but `delete`.
    static func perform(_ change: QueueChange, of queue: QueueName, in transaction: Transaction) throws {
        let connection = transaction.connection
        if case .create(let policy, _) = change, try !transaction.exists(queue) {
            try NameRules.refuseUnseen(queue.text, of: "queue")
            try refuseUnknownLimit(policy, connection)
            try write(policy, by: insert, to: queue, connection)
        } else {
            let account = try transaction.account(of: queue)
            try account.refuseDeleting(in: transaction)
            switch change {
            case .create(_, let ifAbsent):
                if ifAbsent { return }
                throw PenstockError(
                    .queueExists, "There is a queue called '\(queue)' already; `penstock queue set` changes its policy."
                )
            case .set(let policy, let replaced):
                if let replaced, replaced != account.policy { throw QueuePolicy.hasChanged(queue) }
                try refuseUnknownLimit(policy, connection)
                // What this queue has leased is counted out for those that share its limit still.
                if let name = account.policy.sharedLimit, name != policy.sharedLimit {
                    for other in try sharing(name, connection) { transaction.ringAll(other) }
                }
                try write(policy, by: update, to: queue, connection)
            case .pause: try connection.run(setPaused, .text(queue.text), 1)
            case .resume: try connection.run(setPaused, .text(queue.text), 0)
            case .pauseGroup(let key):
                if account.policy.groups == nil { throw GroupKey.noPermits(queue) }
                try connection.run(
                    pauseGroup, .integer(account.id), .text(key), .integer(transaction.now.microseconds))
            case .resumeGroup(let key):
                try connection.run(resumeGroup, .integer(account.id), .text(key))
                try GroupRates.resume(key, account, in: transaction)
            case .setGroupWeight(let key, let weight):
                guard account.policy.isFair else { throw GroupKey.notFair(queue) }
                try Turns.setWeight(weight, of: key, account, connection)
            case .delete:
                preconditionFailure("A queue is deleted in steps.")
            }
        }
        transaction.ringAll(queue)
        try transaction.queuesChanged()
    }

    /// Makes a limit that queues share, changes its count, or removes it.
    static func setLimit(_ name: LimitName, to count: Int?, in transaction: Transaction) throws {
        let connection = transaction.connection
        let sharing = try sharing(name, connection)
        if let count {
            try connection.run(writeLimit, .text(name.text), .integer(Int64(count)))
        } else {
            guard try exists(name, connection) else { throw PenstockError.unknown(name) }
            if !sharing.isEmpty { throw LimitRecord.isShared(name, sharing) }
            try connection.run(deleteLimit, .text(name.text))
        }
        for queue in sharing { transaction.ringAll(queue) }
    }

    private static func sharing(_ name: LimitName, _ connection: Connection) throws -> [QueueName] {
        try connection.all(selectSharing, .text(name.text)) { QueueName(stored: $0.text(0) ?? "") }
    }

    private static func refuseUnknownLimit(_ policy: QueuePolicy, _ connection: Connection) throws {
        if let name = policy.sharedLimit, try !exists(name, connection) { throw PenstockError.unknown(name) }
    }

    private static func exists(_ name: LimitName, _ connection: Connection) throws -> Bool {
        try connection.has(findLimit, .text(name.text))
    }

    private static func write(
        _ policy: QueuePolicy, by query: Query, to queue: QueueName, _ connection: Connection
    ) throws {
        let retry = policy.retry
        let retention = policy.retention
        var columns: (fifo: Int64, onDead: OnDead, limit: Int64?) = (0, .next, nil)
        switch policy.groups {
        case .fifo(let onDead): (columns.fifo, columns.onDead) = (1, onDead)
        case .limit(let count): columns.limit = Int64(count)
        case nil: break
        }
        try connection.run(
            query, .text(queue.text), Value(policy.capacity.map { Int64($0.count) }),
            Value(policy.capacity?.whenFull.rawValue), .integer(Int64(retry.attemptsMax)),
            .integer(retry.base.wholeMicroseconds), .real(retry.factor), .integer(retry.cap.wholeMicroseconds),
            .real(retry.jitter), Value(retention.age?.wholeMicroseconds), Value(retention.count.map(Int64.init)),
            Value(retention.deadAge?.wholeMicroseconds), .integer(columns.fifo), .text(columns.onDead.rawValue),
            Value(columns.limit), Value(policy.limit.map(Int64.init)), Value(policy.sharedLimit?.text),
            Value(policy.rate.map { Int64($0.count) }), Value(policy.rate?.period.wholeMicroseconds),
            .integer(Int64(policy.rate?.burst ?? 1)), Value(policy.ratePerKey.map { Int64($0.count) }),
            Value(policy.ratePerKey?.period.wholeMicroseconds), .integer(Int64(policy.ratePerKey?.burst ?? 1)),
            .integer(policy.isFair ? 1 : 0), .text(policy.whenExpired.rawValue))
    }

    private static let insert = Query(
        """
        INSERT INTO penstock_queue (name, capacity, when_full, attempts_max, retry_base, retry_factor, retry_cap,
            retry_jitter, retain_age, retain_count, retain_dead_age, fifo, on_dead, limit_per_key, limit_count, share_limit,
            rate_count, rate_period, rate_burst, key_rate_count, key_rate_period, key_rate_burst, fair, when_expired)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)
        """)
    private static let update = Query(
        """
        UPDATE penstock_queue SET capacity = ?2, when_full = ?3, attempts_max = ?4, retry_base = ?5,
            retry_factor = ?6, retry_cap = ?7, retry_jitter = ?8, retain_age = ?9, retain_count = ?10,
            retain_dead_age = ?11, fifo = ?12, on_dead = ?13, limit_per_key = ?14, limit_count = ?15, share_limit = ?16,
            rate_count = ?17, rate_period = ?18, rate_burst = ?19, key_rate_count = ?20, key_rate_period = ?21,
            key_rate_burst = ?22, fair = ?23, when_expired = ?24
        WHERE name = ?1
        """)
    private static let pauseGroup = Query(
        "INSERT OR IGNORE INTO penstock_group_pause (queue_id, group_key, paused_at) VALUES (?1, ?2, ?3)")
    private static let resumeGroup = Query(
        "DELETE FROM penstock_group_pause WHERE queue_id = ?1 AND group_key = ?2")
    private static let findLimit = Query("SELECT 1 FROM penstock_limit WHERE name = ?1")
    private static let writeLimit = Query(
        "INSERT INTO penstock_limit (name, count) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET count = excluded.count"
    )
    private static let deleteLimit = Query("DELETE FROM penstock_limit WHERE name = ?1")
    private static let selectSharing = Query("SELECT name FROM penstock_queue WHERE share_limit = ?1 ORDER BY name")
    private static let setPaused = Query("UPDATE penstock_queue SET paused = ?2 WHERE name = ?1")
}
