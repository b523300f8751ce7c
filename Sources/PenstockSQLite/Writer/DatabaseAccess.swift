import Foundation
import GRDB
import GRDBSQLite
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// A database as the store uses it: its own file, or an application's pool.
struct DatabaseAccess: Sendable {
    /// The file's path, resolved.
    let path: String
    /// The file that was opened. Once another one is at its path, or none, nothing is read or written any more.
    let identity: FileIdentity
    /// What SQLite has open beside it.
    let companions: OpenCompanions
    /// What the thread that watches the file has found of its tables.
    let tables = KnownTables()
    let pool: DatabasePool
    let writerLock: WriterLock
    /// Flushes what the store commits to its own file. In an application's pool there is none: the COMMIT flushes.
    let flusher: Flusher?
    /// How long a call waits for the right to write before its caller is told.
    let busyMax: Duration
    let timings: WriteTimings

    /// Whether other processes' calls travel in this store's transactions, and the other way round. An application's own
    /// transactions are its own.
    var sharesTransactions: Bool { flusher != nil }

    /// Throws when the file is no longer what was opened: `fileReplaced`, or `corrupt` when a table is known to be gone.
    func requireStill() throws {
        try requireFile()
        try tables.requireStill()
    }

    /// Throws `fileReplaced` when the file, or what SQLite or this store has open beside it, is no longer what was opened.
    func requireFile() throws {
        try identity.requireStill(at: path)
        try companions.requireStill()
        guard writerLock.isInPlace else {
            throw PenstockError(
                .fileReplaced,
                "\(writerLock.path) was removed or replaced while its database was open, alone or with its folder, and programs that have "
                    + "the old one and the new one would take each other's workers for dead; stop all that use the database, and start "
                    + "them again.")
        }
    }

    /// Runs `body` in a snapshot that writers do not wait for.
    func read(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
        do {
            try await pool.read { database in
                // What is read from a file that has lost its name is of yesterday, and stays so.
                try requireStill()
                try body(SQLiteConnection(database))
            }
        } catch {
            throw translated(error)
        }
    }

    /// What an error of a call means to people. When the file is no longer what was opened, that is it, whatever SQLite made
    /// of what it read there.
    func translated(_ error: any Error) -> any Error {
        guard error is DatabaseError else { return error }
        do {
            try requireFile()
            return StorageErrors.translated(error, path: path)
        } catch {
            return error
        }
    }

    /// Begins a transaction; false when another program has the file. That is not waited for here, within a queue of
    /// the application's: its time-out is put back at once. An application that waits in a callback of its own waits here.
    func begin(_ connection: SQLiteConnection) throws -> Bool {
        var timeout: Int32?
        if flusher == nil, case .timeout(let seconds) = pool.configuration.busyMode { timeout = Int32(seconds * 1000) }
        if timeout != nil { sqlite3_busy_timeout(connection.database.sqliteConnection, 0) }
        defer { if let timeout { sqlite3_busy_timeout(connection.database.sqliteConnection, timeout) } }
        do {
            try connection.execute(Self.begin)
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        }
    }

    /// Runs `body` in a transaction of its own, the last one on a connection, if it can be had within `max`. That is time enough
    /// for processes that end together, and short enough when the one that writes is stopped.
    ///
    /// - Returns: whether it was committed.
    func write(within max: Duration, _ connection: SQLiteConnection, _ body: () throws -> Void) -> Bool {
        let end = ContinuousClock.now + max
        while !writeAtOnce(connection, body) {
            guard ContinuousClock.now < end else { return false }
            usleep(1000)
        }
        return true
    }

    private func writeAtOnce(_ connection: SQLiteConnection, _ body: () throws -> Void) -> Bool {
        guard writerLock.tryAcquire() else { return false }
        defer { writerLock.release() }
        do {
            guard try begin(connection) else { return false }
            try body()
            try connection.commit()
            return true
        } catch {
            if connection.database.isInsideTransaction { try? connection.execute(Self.rollback) }
            return false
        }
    }

    static let rollback = Query("ROLLBACK")
    private static let begin = Query("BEGIN IMMEDIATE")
}
