import PenstockCore

/// Limits on how many messages of a queue, or of several that share one, are leased.
///
/// Counted are leases, by the queue's depth, which changes in the transaction that makes or ends one: nobody has to give anything
/// back that they took, and a worker that dies is counted out when its messages are put back in line.
enum LeaseLimits {
    /// How many messages more of a queue may be leased; `nil`: any number.
    static func room(of account: QueueAccount, in transaction: Transaction) throws -> Int? {
        let policy = account.policy
        if policy.limit == nil, policy.sharedLimit == nil { return nil }
        var rooms: [Int64] = []
        if let limit = policy.limit {
            rooms.append(Int64(limit) - (try leased(account.id, transaction.connection) + account.change.leased))
        }
        if let name = policy.sharedLimit,
            let limit = try transaction.connection.integer(readLimit, .text(name.text))
        {
            let sharing = try sharing(name, transaction.connection)
            let changed = try sharing.reduce(0) { $0 + (try transaction.account(id: $1.id)?.change.leased ?? 0) }
            rooms.append(limit - sharing.reduce(changed) { $0 + $1.leased })
        }
        return rooms.min().map { Int(max(0, $0)) }
    }

    /// Whether as many messages of a queue are leased as may be. Outside of a transaction.
    static func isFull(_ queueID: Int64, _ connection: Connection) throws -> Bool {
        try connection.integer(readIsFull, .integer(queueID)) == 1
    }

    /// The queues for which to ring as messages of this one are leased no more: those that have ready ones, which a limit may
    /// have kept back. Depths say so: for what this transaction makes ready it rings anyway.
    static func queuesToRing(of account: QueueAccount, _ connection: Connection) throws -> [QueueName] {
        if let name = account.policy.sharedLimit {
            return try sharing(name, connection).filter { $0.ready != 0 }.map(\.name)
        }
        return try account.policy.limit != nil && account.readyCount(connection) > 0 ? [account.name] : []
    }

    private static func leased(_ queueID: Int64, _ connection: Connection) throws -> Int64 {
        let leased = try connection.integer(readLeased, .integer(queueID)) ?? 0
        return leased.clamped(to: StoredRange.counts)
    }

    private static func sharing(
        _ name: LimitName, _ connection: Connection
    ) throws -> [(id: Int64, name: QueueName, leased: Int64, ready: Int64)] {
        try connection.all(readSharing, .text(name.text)) {
            (
                $0.integer(0), QueueName(stored: $0.text(1) ?? ""), $0.integer(2).clamped(to: StoredRange.leased),
                $0.integer(3)
            )
        }
    }

    private static let readLimit = Query("SELECT count FROM penstock_limit WHERE name = ?1")
    static let readLeased = reading { depth in "SELECT \(depth("leased", "?1"))" }
    private static let readSharing = reading { depth in
        """
        SELECT queue.id, queue.name, \(depth("leased", "queue.id")), \(depth("ready", "queue.id"))
        FROM penstock_queue AS queue WHERE queue.share_limit = ?1
        """
    }
    private static let readIsFull = reading { depth in
        """
        SELECT \(depth("leased", "queue.id")) >= queue.limit_count OR queue.share_limit IS NOT NULL
            AND (SELECT total(\(depth("leased", "sharing.id"))) FROM penstock_queue AS sharing
                WHERE sharing.share_limit = queue.share_limit)
            >= (SELECT count FROM penstock_limit WHERE name = queue.share_limit)
        FROM penstock_queue AS queue
        WHERE queue.id = ?1 AND (queue.limit_count IS NOT NULL OR queue.share_limit IS NOT NULL)
        """
    }
    /// A statement that reads columns of queues' depths: on a server the newest versions of their rows come first.
    private static func reading(_ sql: (_ depth: (_ column: String, _ queueID: String) -> String) -> String) -> Query {
        func depth(_ order: String) -> (String, String) -> String {
            { "(SELECT \($0) FROM penstock_depth WHERE queue_id = \($1)\(order))" }
        }
        return Query(sql(depth("")), server: sql(depth(" ORDER BY version DESC LIMIT 1")))
    }
}
