package import PenstockCore

/// A queue's row, as the writer keeps it in memory.
package struct QueueRow: Sendable {
    package var id: Int64
    package var name: QueueName
    package var isPaused: Bool
    package var isDeleting: Bool
    package var policy: QueuePolicy
    package var hasTurns: Bool

    /// The columns ``init(_:)`` reads, in its order.
    package static let columns = """
        queue.id, queue.name, queue.paused, queue.capacity, queue.when_full, queue.attempts_max, queue.retry_base,
        queue.retry_factor, queue.retry_cap, queue.retry_jitter, queue.retain_age, queue.retain_count,
        queue.retain_dead_age, queue.deleting, queue.fifo, queue.on_dead, queue.limit_per_key, queue.limit_count,
        queue.share_limit, queue.rate_count, queue.rate_period, queue.rate_burst, queue.key_rate_count,
        queue.key_rate_period, queue.key_rate_burst, queue.fair, queue.when_expired,
        queue.fair <> 0 OR EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id)
        """
    package static let columnCount = 28

    package init(_ row: PreparedStatement) {
        id = row.integer(0)
        name = QueueName(stored: row.text(1) ?? "")
        isPaused = row.integer(2) != 0
        isDeleting = row.integer(13) != 0
        var capacity: Capacity?
        if let count = row.optionalInteger(3), let whenFull = row.text(4).flatMap(OverflowPolicy.init) {
            capacity = Capacity(Int(count), whenFull: whenFull)
        }
        policy = QueuePolicy(
            capacity: capacity,
            retry: RetryPolicy(
                attemptsMax: Int(row.integer(5)),
                base: .microseconds(row.integer(6)),
                factor: row.real(7),
                cap: .microseconds(row.integer(8)),
                jitter: row.real(9)),
            retention: Retention(
                age: row.optionalInteger(10).map { .microseconds($0) },
                count: row.optionalInteger(11).map(Int.init),
                deadAge: row.optionalInteger(12).map { .microseconds($0) }),
            groups: row.integer(14) != 0
                ? .fifo(onDead: row.text(15).flatMap(OnDead.init) ?? .next)
                : row.optionalInteger(16).map { .limit(Int($0)) },
            limit: row.optionalInteger(17).map(Int.init),
            sharedLimit: row.text(18).map(LimitName.init(stored:)),
            rate: Rate(row, at: 19),
            ratePerKey: Rate(row, at: 22),
            isFair: row.integer(25) != 0,
            whenExpired: row.text(26).flatMap(ExpiryPolicy.init) ?? .drop)
        hasTurns = row.integer(27) != 0
    }
}

extension Rate {
    /// The rate of which a row has the count, the period and the burst, in this order; `nil`: it has none.
    init?(_ row: PreparedStatement, at index: Int) {
        guard let count = row.optionalInteger(index), let period = row.optionalInteger(index + 1) else { return nil }
        self.init(Int(count), per: .microseconds(period), burst: Int(row.integer(index + 2)))
    }
}
