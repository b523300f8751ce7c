import PenstockSQL

/// A transaction as the database knows it once it is committed: by the row that its connection has in `penstock_writer`, which
/// goes with every transaction.
///
/// Each connection has a row of its own. So a server that was promoted or has crashed and lost a transaction does not know it, though later
/// ones of the same process are there.
struct CommitMark: Sendable {
    /// The number of the connection's row.
    let writer: Int64
    /// Which transaction of the process it is.
    let number: Int64

    /// A number for the row of a connection, of the system's own generator: two processes of one seed must not have one row.
    static func newRow() -> Int64 { .random(in: 0 ... .max) }

    /// Writes it down, in the transaction.
    func write(_ connection: Connection) throws {
        try connection.run(Self.insert, .integer(writer), .integer(number))
    }

    /// Removes the row of a connection that has another one from now on.
    static func remove(_ writer: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(writer))
    }

    private static let delete = Query("DELETE FROM penstock_writer WHERE id = ?1")
    private static let insert = Query(
        """
        INSERT INTO penstock_writer AS writer (id, batch, written_at) VALUES (?1, ?2, penstock_now())
        ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
        """)

    /// Whether the transaction is there.
    func isThere(_ server: ServerConnection) throws -> Bool {
        try server.run("SELECT 1 FROM penstock_writer WHERE id = \(writer) AND batch >= \(number)").rowCount > 0
    }

    /// Removes the rows of connections that have written nothing for a day: their processes did not end in good order.
    static func removeOld(_ server: ServerConnection) throws {
        try server.run("DELETE FROM penstock_writer WHERE written_at < penstock_now() - 86400000000")
    }
}
