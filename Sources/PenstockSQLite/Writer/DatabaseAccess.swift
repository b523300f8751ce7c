import GRDB
import GRDBSQLite
import PenstockCore
import PenstockProcesses

/// A database as the store uses it: its own file, or an application's pool.
struct DatabaseAccess: Sendable {
    /// The file's path, resolved.
    let path: String
    /// The file that was opened. Once another one is at its path, or none, nothing is read or written any more.
    let identity: FileIdentity
    let pool: DatabasePool
    let writerLock: WriterLock
    /// Flushes what the store commits to its own file. In an application's pool there is none: the COMMIT flushes.
    let flusher: Flusher?
    /// How long a call waits for the right to write before its caller is told.
    let busyMax: Duration

    /// Whether other processes' calls travel in this store's transactions, and the other way round. An application's own
    /// transactions are its own.
    var sharesTransactions: Bool { flusher != nil }

    /// Runs `body`, one transaction, such that its commit has the durability that is `wanted`, or gets it from the
    /// flusher.
    ///
    /// `PRAGMA synchronous`: FULL flushes the WAL at each COMMIT, NORMAL before a checkpoint only. It cannot be set
    /// inside a transaction. In an application's pool it is the application's: it is only ever made stricter, and put
    /// back.
    func withDurability<T>(_ wanted: Durability, _ database: Database, _ body: () throws -> T) throws -> T {
        guard flusher == nil, wanted == .powerLoss, let level = try Self.level(of: database), level < Self.full else {
            return try body()
        }
        try Self.setLevel(Self.full, database)
        defer { try? Self.setLevel(level, database) }
        return try body()
    }

    /// Runs `body` such that a lock of another program ends it at once. An application that waits in a callback of its own
    /// waits there.
    func withoutBusyWait<T>(_ database: Database, _ body: () throws -> T) rethrows -> T {
        guard flusher == nil, case .timeout(let seconds) = pool.configuration.busyMode else { return try body() }
        sqlite3_busy_timeout(database.sqliteConnection, 0)
        defer { sqlite3_busy_timeout(database.sqliteConnection, Int32(seconds * 1000)) }
        return try body()
    }

    /// What a commit on `database` survives as it is set up.
    static func durability(of database: Database) throws -> Durability {
        try level(of: database) ?? 0 >= full ? .powerLoss : .processCrash
    }

    /// Runs `body` in a transaction of its own, the last one on a connection, if nobody else writes at this moment. Waits
    /// for no other process.
    ///
    /// - Returns: whether it was committed.
    func writeAtOnce(_ connection: Connection, _ body: () throws -> Void) -> Bool {
        guard writerLock.tryAcquire() else { return false }
        defer { writerLock.release() }
        if flusher != nil { sqlite3_busy_timeout(connection.database.sqliteConnection, 0) }
        do {
            try withoutBusyWait(connection.database) {
                try connection.database.inTransaction(.immediate) {
                    try body()
                    return .commit
                }
            }
            return true
        } catch {
            return false
        }
    }

    /// Closes the pool, if it is the store's. What cannot be closed now is closed when the process ends.
    func close() {
        if flusher != nil { try? pool.close() }
    }

    private static let full = 2

    private static func level(of database: Database) throws -> Int? {
        try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }

    private static func setLevel(_ level: Int, _ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = \(level)")
    }
}
