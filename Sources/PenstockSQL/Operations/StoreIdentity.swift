package import PenstockCore

/// Which store this is: a row that it is given the first time that somebody asks.
package enum StoreIdentity {
    /// What it was given; `nil`: nothing yet.
    package static func read(_ connection: Connection) throws -> StoreID? {
        try connection.first(select) { StoreID(rawValue: $0.text(0) ?? "") }
    }

    /// What it was given, or is given now.
    static func give(in transaction: Transaction) throws -> StoreID {
        if let known = try read(transaction.connection) { return known }
        let new = StoreID(random: transaction.random)
        try transaction.connection.run(insert, .text(new.rawValue))
        return new
    }

    private static let insert = Query("INSERT INTO penstock_store (id, store_id) VALUES (1, ?1)")
    private static let select = Query("SELECT store_id FROM penstock_store WHERE id = 1")
}
