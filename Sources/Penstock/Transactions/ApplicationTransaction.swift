internal import GRDB
package import PenstockCore
package import PenstockSQL
package import PenstockSQLite

/// A transaction of the application's own, which the store joins.
package protocol ApplicationTransaction: JoinableTransaction {
    /// The store that joins it.
    var storage: any MessageStore { get }

    /// Calls one of both when the transaction has ended. The first is told whether the lease is held then: a savepoint that was
    /// rolled back has taken its verdict with it, though the transaction came through.
    func whenEnded(
        _ lease: Lease, committed: @escaping @Sendable (_ isHeld: Bool) -> Void,
        rolledBack: @escaping @Sendable () -> Void)
}

/// That of a connection in the application's pool.
extension PoolTransaction: ApplicationTransaction {
    /// - Throws: `invalidInput` when the store is none in a file.
    init(_ storage: any MessageStore, _ database: Database) throws {
        guard let store = storage as? SQLiteStore else { throw PenstockError.notInATransaction }
        self.init(store, database)
    }

    package var storage: any MessageStore { store }

    package func whenEnded(
        _ lease: Lease, committed: @escaping @Sendable (_ isHeld: Bool) -> Void,
        rolledBack: @escaping @Sendable () -> Void
    ) {
        database.afterNextTransaction(
            onCommit: { [store] database in
                committed((try? PoolTransaction(store, database).isHeld(lease)) == true)
            },
            onRollback: { _ in rolledBack() })
    }
}

extension PenstockError {
    static func refuseOther(_ transaction: some ApplicationTransaction, than storage: any MessageStore) throws {
        guard transaction.storage as AnyObject === storage as AnyObject else {
            throw PenstockError(
                .invalidInput, "The transaction is one of another store; begin it with the store that the queue is of.")
        }
    }
}
