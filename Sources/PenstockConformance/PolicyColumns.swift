/// What the tables of every engine keep of a queue's policy, for tests of what plain SQL cannot make of it.
package enum PolicyColumns {
    /// Columns of `penstock_queue`, with what they cannot be and the bounds of what they can.
    package static let bounds: [(column: String, wrong: [String], right: [String])] = [
        ("name", ["''", "'\(String(repeating: "n", count: 201))'"], ["'\(String(repeating: "n", count: 200))'"]),
        ("paused", ["-1", "2"], ["0", "1"]),
        ("capacity", ["0", "1000000001", "NULL"], ["1", "1000000000"]),
        ("when_full", ["'x'", "NULL"], ["'dropNewest'", "'dropOldest'", "'fail'", "'wait'"]),
        ("attempts_max", ["0", "1001"], ["1", "1000"]),
        ("retry_base", ["-1"], ["0"]),
        ("retry_factor", ["0.5", "100.5"], ["1", "100"]),
        ("retry_cap", ["999999", "315360000000001"], ["1000000", "315360000000000"]),
        ("retry_jitter", ["-0.5", "1.5"], ["0", "1"]),
        ("retain_age", ["-1", "315360000000001"], ["0", "315360000000000", "NULL"]),
        ("retain_count", ["-1"], ["0", "NULL"]),
        ("retain_dead_age", ["-1", "315360000000001"], ["0", "315360000000000", "NULL"]),
        ("deleting", ["-1", "2"], ["0"]),
        ("fifo", ["-1", "2"], ["0", "1"]),
        ("on_dead", ["'x'"], ["'next'", "'hold'"]),
        ("limit_per_key", ["0", "1001", "2, fifo = 1"], ["1", "1000", "NULL, fifo = 1"]),
        ("limit_count", ["0", "1000001"], ["1", "1000000", "NULL"]),
        ("fair", ["-1", "2"], ["0", "1"]),
        ("when_expired", ["'x'"], ["'drop'", "'dead'"]),
        ("rate_count", ["0", "1000001"], ["1", "1000000", "NULL"]),
        ("rate_period", ["999", "2592000000001", "4000, rate_count = 5000"], ["1000", "2592000000000"]),
        ("rate_burst", ["0", "1000001"], ["1", "1000000"]),
        ("key_rate_count", ["0", "1000001"], ["1", "1000000", "NULL"]),
        ("key_rate_period", ["999", "2592000000001", "4000, key_rate_count = 5000"], ["1000", "2592000000000"]),
        ("key_rate_burst", ["0", "1000001"], ["1", "1000000"]),
    ]

    /// Rows of other tables that cannot be.
    package static let otherWrong = [
        "penstock_weight (queue_id, group_key, weight) VALUES (1, 'a', 1)",
        "penstock_weight (queue_id, group_key, weight) VALUES (1, 'a', 1001)",
        "penstock_fair (queue_id, priority, turn) VALUES (1, 7, 0)",
        "penstock_fair (queue_id, priority, turn) VALUES (1, 7, 4611686018427387904)",
    ]

    /// With these each of the others is within its bounds by itself.
    package static let first = """
        capacity = 10, when_full = 'fail', rate_count = 1, rate_period = 3600000000, key_rate_count = 1, key_rate_period = 3600000000
        """
}
