import GRDB
import PenstockCore
import PenstockProcesses

/// A database as the store uses it: its own file, or an application's pool.
struct DatabaseAccess: Sendable {
    /// The file's path, resolved.
    let path: String
    let pool: DatabasePool
    let turnstile: WriterLock
    /// Through which other processes' calls travel in this one's transactions, and the other way round.
    let handover: Handover?
    /// Flushes what the store commits to its own file. In an application's pool there is none: the COMMIT flushes.
    let flusher: Flusher?
    /// How long another program may hold the file before callers are told.
    let busyMax: Duration

    /// Leaves the turn.
    func leaveTurn() {
        if let handover { handover.leaveTurn() } else { turnstile.leave() }
    }

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

    /// What a commit on `database` survives as it is set up.
    static func durability(of database: Database) throws -> Durability {
        try level(of: database) ?? 0 >= full ? .powerLoss : .processCrash
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
