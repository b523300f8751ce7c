import PenstockCore

/// The connection of a process's writer, and the number of its row in `penstock_writer`.
struct WriterSession {
    let connection: PostgresConnection
    private(set) var row: Int64
    /// How many transactions it has written down in that row.
    private var transactionCount = 0

    /// After so many transactions it takes another row: a transaction that somebody has left open keeps all versions of this one.
    private static let transactionsMax = 256

    /// - Parameter rows: gives numbers of rows.
    init(_ server: ServerConnection, rows: SystemRandom) throws {
        // What the operations put in line they tell to the queue's row themselves; see the migration `old_snapshots`.
        try server.run("SET penstock.writer = 'process'")
        connection = PostgresConnection(server)
        row = Self.next(rows)
    }

    var server: ServerConnection { connection.server }

    /// The mark of the transaction `number`.
    ///
    /// - Returns: with it the row that is not used any more, if another one is from this transaction on.
    mutating func nextMark(_ number: Int64, rows: SystemRandom) -> (CommitMark, oldRow: Int64?) {
        var oldRow: Int64?
        if transactionCount >= Self.transactionsMax { (oldRow, row, transactionCount) = (row, Self.next(rows), 0) }
        transactionCount += 1
        return (CommitMark(writer: row, number: number), oldRow)
    }

    private static func next(_ rows: SystemRandom) -> Int64 { Int64(rows.next() >> 1) }
}
