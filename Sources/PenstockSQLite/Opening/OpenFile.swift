import Foundation
import GRDB
import GRDBSQLite
import PenstockCore
import PenstockProcesses
import Synchronization

/// Opens a file as a pool set up for a queue.
enum OpenFile {
    // Closing any descriptor of a file drops all POSIX locks that this process has on it, those of SQLite included. The
    // one that makes a new file is closed before anybody else of this process looks whether the file exists.
    private static let creating = Mutex(())

    /// A pool on the file at `path`, which is resolved.
    ///
    /// A file that the store cannot use is left as it is, byte for byte: it is checked through a connection that
    /// cannot write before it is opened. So is one that holds another program's tables: Penstock's come beside them
    /// only through that program's own pool, or by hand, and never because a path was mistyped.
    ///
    /// - Parameter leavesWriteAheadLog: whether a write-ahead log that is not long stays when this is the last to close the file.
    /// - Throws: `notFound` when there is no file and `createIfMissing` is false; `notADatabase`, `newerSchema`,
    ///   `readOnly` and so on when it cannot be used.
    static func pool(at path: String, createIfMissing: Bool, leavesWriteAheadLog: Bool, busyMax: Duration) throws
        -> Opened
    {
        try creating.withLock { _ in try prepareFile(path, createIfMissing: createIfMissing) }
        return try Patience.whileLocked(upTo: busyMax) {
            // It stays open until the pool is: the first to open a file reads all of its write-ahead log, and the next one need not.
            let readOnlyConnection = try refuseUnusable(path, busyMax: busyMax)
            let pool = try DatabasePool(path: path, configuration: configuration(busyMax: busyMax))
            if leavesWriteAheadLog, FileIdentity.size(of: path + "-wal") <= leftBytesMax {
                return Opened(pool: pool, readOnlyConnection: readOnlyConnection)
            }
            try readOnlyConnection?.close()
            return Opened(pool: pool, readOnlyConnection: nil)
        }
    }

    /// An open file.
    struct Opened {
        let pool: DatabasePool
        /// A connection that only reads. Where it is let go after the pool, the write-ahead log stays: the last
        /// connection of a file puts that away, and this one cannot.
        let readOnlyConnection: DatabaseQueue?
    }

    /// The first program to open a file reads all of a write-ahead log that was left, about a millisecond for this much.
    private static let leftBytesMax = 512 * 1024

    private static func prepareFile(_ path: String, createIfMissing: Bool) throws {
        if createIfMissing, FileIdentity.status(of: path) == nil, errno == ENOENT { return try createPrivately(path) }
        _ = try FileIdentity(of: path)
        guard access(path, W_OK) == 0 else { throw SystemErrors.failure("\(path) cannot be written", errno) }
    }

    /// Makes the empty file with mode 0600. SQLite gives its companions the mode of the database.
    ///
    /// - Throws: `corrupt` when a write-ahead log is there without its file.
    static func createPrivately(_ path: String) throws {
        try FileIdentity.refuseLogWithoutFile(path)
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 || errno == EEXIST else {
            throw SystemErrors.failure("\(path) cannot be made", errno)
        }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Throws when the file at `path` is none of Penstock's, or newer than this program. Changes nothing in it.
    ///
    /// - Returns: the connection that it was checked through; `nil` for an empty file.
    private static func refuseUnusable(_ path: String, busyMax: Duration) throws -> DatabaseQueue? {
        // A new file has its first page before it has a write-ahead log.
        if FileIdentity.size(of: path) == 0 { return nil }
        do {
            return try refuseForeign(path, readonly: true, busyMax: busyMax)
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            // Somebody died while writing the file in the way without a write-ahead log, in which files are made. Only a
            // connection that may write takes back what was begun.
            try refuseForeign(path, readonly: false, busyMax: busyMax).close()
            return nil
        }
    }

    private static func refuseForeign(_ path: String, readonly: Bool, busyMax: Duration) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = readonly
        configuration.label = "penstock check"
        configuration.busyMode = Patience.busyMode(upTo: busyMax)
        let file = try DatabaseQueue(path: path, configuration: configuration)
        try file.read { database in
            if try SchemaMigrator(path: path).refuseNewer(database) > 0 { return }
            try OtherPrograms.refuseTables(in: database, path)
        }
        return file
    }

    private static func configuration(busyMax: Duration) -> Configuration {
        var configuration = Configuration()
        configuration.label = "penstock"
        // A reader or a recovery can meet a lock for moments. Nobody is shown it; the wait has an end all the same.
        configuration.busyMode = Patience.busyMode(upTo: busyMax)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            // A reader's connection writes nothing, and is refused most of these.
            if database.configuration.readonly { return }
            // A commit is whole in the write-ahead log, and the store flushes that after it.
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            // Pages of deleted messages can be given back to the file system, a few at a time. It must be set before
            // the first table is made, and is a property of the file from then on. Setting it again would write, and
            // sync, at each opening.
            if try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 0 {
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            // After a checkpoint a WAL that grew beyond this is cut, so that one burst does not stay on the disk.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // 16 MiB between checkpoints: each page that is written often in between is copied once.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            // 16 MiB of pages in memory, so that the upper levels of every table stay there.
            try database.execute(sql: "PRAGMA cache_size = -16384")
            #if canImport(Darwin)
                // On Apple platforms fsync leaves data in the drive's cache; only a full sync survives a power cut.
                try database.execute(sql: "PRAGMA fullfsync = ON")
                try database.execute(sql: "PRAGMA checkpoint_fullfsync = ON")
            #endif
            // From here on the store waits by itself, and answers its callers meanwhile.
            sqlite3_busy_timeout(database.sqliteConnection, 0)
        }
        return configuration
    }
}

/// Waits for a lock whose holder wakes nobody.
enum Patience {
    /// Runs `body` again for as long as it finds the database locked, up to `limit` from now.
    ///
    /// The pauses between are uneven, lest two that wait keep step.
    static func whileLocked<T>(upTo limit: Duration, _ body: () throws -> T) throws -> T {
        let started = ContinuousClock.now
        while true {
            do {
                return try body()
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && ContinuousClock.now - started < limit
            {
                pause()
            }
        }
    }

    static func pause() { WriterLock.pause() }

    /// How a connection waits for a lock: for `limit`, about.
    static func busyMode(upTo limit: Duration) -> Database.BusyMode {
        .callback { pauses in
            pause()
            return pauses < Int(limit / .microseconds(2500))
        }
    }
}
