import GRDB
import PenstockCore

/// A database as the store uses it: its own file, or an application's pool.
struct DatabaseAccess: Sendable {
    /// The file's path, for messages to people.
    let path: String
    let pool: DatabasePool
    let turnstile: Turnstile
    /// Whether the pool was opened by the store, which then also closes it and sets it up as it likes.
    let ownsPool: Bool

    var writer: DatabasePool { pool }

    /// Makes the next transaction wait for the disk, or not.
    ///
    /// `PRAGMA synchronous`: FULL flushes the WAL at each COMMIT, NORMAL before a checkpoint only. It cannot be set
    /// inside a transaction, and is set only when it changes. An application's pool is always set, since the
    /// application may set it as well.
    func setDurability(_ wanted: Durability, was current: inout Durability?, _ database: Database) throws {
        if ownsPool, current == wanted { return }
        try database.execute(sql: wanted == .powerLoss ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        current = wanted
    }

    /// Closes the pool, if it is the store's. What cannot be closed now is closed when the process ends.
    func close() {
        if ownsPool { try? pool.close() }
    }
}
