package import GRDB
package import PenstockCore
import PenstockProcesses
package import PenstockSQL

/// A transaction of the application's own, on the pool that a store was opened on. Workers are woken at its commit.
package struct PoolTransaction: JoinableTransaction {
    package let store: SQLiteStore
    package let database: Database

    package init(_ store: SQLiteStore, _ database: Database) {
        self.store = store
        self.database = database
    }

    package var time: any TimeSource { store.core.time }

    /// As the application has set its connection up: `powerLoss` when that is `synchronous = FULL`, and `fullfsync`
    /// is on where a flush ends in the drive's cache without it.
    package var durability: Durability { get throws { try FlushLevel(of: database)?.durability ?? .processCrash } }

    /// - Throws: `invalidInput` when `database` is not in a transaction.
    package func join<T>(duringMove: Departure.Allowance, _ body: (Transaction) throws -> T) throws -> T {
        try store.core.writer.refuseClosed()
        try require(
            database.isInsideTransaction,
            "This joins a transaction, and there is none; begin one, as with `pool.write`.")
        do {
            let transaction = try Transaction(
                SQLiteConnection(database), path: store.access.path, time: time, random: store.core.random,
                policies: PolicyCache())
            try transaction.departure?.refuse(unless: duringMove)
            let value = try transaction.part(body)
            let rings = transaction.rings
            database.afterNextTransaction { [doorbell = store.doorbell] _ in doorbell.ring(rings) }
            return value
        } catch {
            throw StorageErrors.translated(error, path: store.access.path)
        }
    }

    package func read<T>(_ body: (Connection) throws -> T) throws -> T { try body(SQLiteConnection(database)) }

    /// Whether the lease is held now, by what the application's connection sees.
    package func isHeld(_ lease: Lease) throws -> Bool { try read { try Settling.isHeld(lease, $0) } }
}
