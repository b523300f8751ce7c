extension ServerConnection {
    /// The number that the store's table has now, in SQL. Tables that are put in the place of others, as by a restore, have other numbers.
    static let tableNumber = "'penstock_state'::regclass::oid::bigint"

    /// Takes note of the number that the store's table has now.
    ///
    /// - Throws: ``ServerError`` of a lost connection, when it is another one than when this connection took its locks: others look for
    ///   locks that stand for the new table, and would take this process for dead.
    func note(table number: Int64) throws {
        address.known.note(table: number)
        if let table, table != number {
            throw ServerError(message: "other tables were put in the place of the store's", isLost: true)
        }
    }

    /// Asks for the number of the store's table, and takes note of it.
    ///
    /// - Throws: as ``note(table:)``.
    func readTable() throws {
        if let number = Int64(try run("SELECT \(Self.tableNumber)").text(0, 0)) { try note(table: number) }
    }
}
