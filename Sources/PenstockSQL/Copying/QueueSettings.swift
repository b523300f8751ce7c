import PenstockCore

/// What a source has before its first message: its queues with all of their settings and totals, the limits that they share, and the
/// names that must not be there in the target.
struct QueueSettings: Sendable {
    let queues: [[CopiedValue]]
    let names: CopiedNames
    let lastSequence: Int64

    /// Written as the queues open, by ``share(as:_:in:)``.
    private static let shareLimit = "share_limit"
    /// The columns of `penstock_queue`, and behind them those of `penstock_depth` that are no depths.
    private static let columns: CopiedTable.Columns = [
        ("id", .integer), ("name", .text), ("paused", .integer), ("capacity", .integer), ("when_full", .text),
        ("attempts_max", .integer), ("retry_base", .integer), ("retry_factor", .real), ("retry_cap", .integer),
        ("retry_jitter", .real), ("retain_age", .integer), ("retain_count", .integer), ("retain_dead_age", .integer),
        ("fifo", .integer), ("on_dead", .text), ("limit_per_key", .integer), ("limit_count", .integer),
        (shareLimit, .text), ("fair", .integer), ("when_expired", .text), ("key_rate_count", .integer),
        ("key_rate_period", .integer), ("key_rate_burst", .integer), ("rate_count", .integer),
        ("rate_period", .integer),
        ("rate_burst", .integer),
    ]
    private static let totals: CopiedTable.Columns =
        DepthCount.totals.map { ($0, .integer) } + [("wait_latency", .text), ("work_latency", .text)]

    /// Reads those of a source.
    init(_ connection: Connection) throws {
        queues = try connection.all(Self.selectQueues) { try CopiedTable.row($0, of: Self.columns + Self.totals) }
        names = try CopiedNames(connection)
        lastSequence = try connection.integer(LogReader.readEnd) ?? 0
    }

    /// Makes the queues in a target, which take and give nothing before all of their messages are there.
    ///
    /// - Returns: their ids, by those in the source.
    func make(in transaction: Transaction) throws -> [Int64: Int64] {
        let connection = transaction.connection
        var ids: [Int64: Int64] = [:]
        for queue in queues {
            guard case .integer(let sourceID) = queue[0], case .text(let name) = queue[1] else { continue }
            let settings: [CopiedValue] = zip(Self.columns, queue).map { $0.name == Self.shareLimit ? .null : $1 }
            try connection.run(Self.insertQueue) { CopiedTable.bind(settings[1...], to: $0, at: 1) }
            guard let id = try connection.integer(QueueReader.readID, .text(name)) else { continue }
            ids[sourceID] = id
            // What a queue that is shared fairly begins with; its own comes with the others' rows.
            try connection.run(Self.deleteFair, .integer(id))
            try connection.run(Self.writeTotals) { row in
                CopiedTable.bind(queue[Self.columns.count...], to: row, at: 1)
                row.bind(id, at: Self.totals.count + 1)
            }
        }
        return ids
    }

    /// Makes the limits in a target, and has the queues share them that do. Before they open nobody needs them, and of a move that is
    /// given up none is left.
    ///
    /// - Parameter ids: the queues' ids in the target, by those in the source.
    func share(as ids: [Int64: Int64], _ target: String, in transaction: Transaction) throws {
        let connection = transaction.connection
        try names.refuseLimits(target, connection)
        for limit in names.limits {
            try connection.run(Self.insertLimit, .text(limit.name.text), .integer(limit.count))
        }
        guard let column = Self.columns.firstIndex(where: { $0.name == Self.shareLimit }) else { return }
        for queue in queues {
            guard case .integer(let sourceID) = queue[0], case .text(let name) = queue[column], let id = ids[sourceID]
            else { continue }
            try connection.run(Self.writeShareLimit, .integer(id), .text(name))
        }
    }

    private static let selectQueues = Query(
        """
        SELECT \((columns.map { "queue.\($0.name)" } + totals.map { "depth.\($0.name)" }).joined(separator: ", "))
        FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id ORDER BY queue.id
        """)
    private static let insertQueue = Query(
        """
        INSERT INTO penstock_queue (\(columns.dropFirst().map(\.name).joined(separator: ", ")), deleting)
        VALUES (\(columns.indices.dropFirst().map { "?\($0)" }.joined(separator: ", ")), 1)
        """)
    private static let writeShareLimit = Query("UPDATE penstock_queue SET share_limit = ?2 WHERE id = ?1")
    private static let writeTotals = Query(
        """
        UPDATE penstock_depth SET \(totals.enumerated().map { "\($1.name) = ?\($0 + 1)" }.joined(separator: ", "))
        WHERE queue_id = ?\(totals.count + 1)
        """)
    private static let insertLimit = Query("INSERT OR IGNORE INTO penstock_limit (name, count) VALUES (?1, ?2)")
    private static let deleteFair = Query("DELETE FROM penstock_fair WHERE queue_id = ?1")
}
