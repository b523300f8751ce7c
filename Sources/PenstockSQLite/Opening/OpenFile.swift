import CPenstockSQLite
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
    /// A file that the store cannot use is left as it is, byte for byte: the first connection checks it before it writes
    /// anything. So is one that holds another program's tables: Penstock's come beside them only through that program's
    /// own pool, or by hand, and never because a path was mistyped. Nor does SQLite get one whose companions may be
    /// another user's.
    ///
    /// - Throws: `notFound` when there is no file, or an empty one, and `createIfMissing` is false; `notADatabase`,
    ///   `newerSchema`, `readOnly` and so on when it cannot be used.
    static func pool(at path: String, createIfMissing: Bool, busyMax: Duration) throws -> DatabasePool {
        try creating.withLock { _ in try prepareFile(path, createIfMissing: createIfMissing) }
        return try Patience.whileLocked(upTo: busyMax) {
            let configuration = configuration(path, mayBeEmpty: createIfMissing, busyMax: busyMax)
            let pool = try StorageErrors.opening(path) { try DatabasePool(path: path, configuration: configuration) }
            try pool.writeWithoutTransaction { database in
                try OpenCompanions.refuseForeign(at: path, beside: database)
                // From now on the last to close the file puts the log away, so that the file alone is all of the store.
                leaveWriteAheadLog(database, false)
            }
            return pool
        }
    }

    /// Whether the file's header says that it has a write-ahead log: SQLite says no when it was opened as one that does not change.
    static func hasWriteAheadLog(_ database: Database) -> Bool {
        penstock_has_write_ahead_log(database.sqliteConnection) != 0
    }

    /// Says whether this connection leaves the write-ahead log in place when it is the last to close the file, or removes it. Where
    /// nothing is said, SQLite removes it, and keeps it on Apple's systems.
    static func leaveWriteAheadLog(_ database: Database, _ leaves: Bool) {
        // It can only fail for a connection that is closed.
        _ = penstock_leave_write_ahead_log(database.sqliteConnection, leaves ? 1 : 0)
    }

    /// Has a transaction write nothing to the log before its COMMIT, however many pages it changes.
    ///
    /// SQLite 3.40 can lose a transaction that was committed, when a process dies after it: one that had written pages before its
    /// COMMIT, for want of room in its cache, and was rolled back in part. What is read of the log after a crash ends before it.
    static func keepUnwrittenPages(_ database: Database) throws {
        try database.execute(sql: "PRAGMA cache_spill = OFF")
    }

    /// Throws `fileReplaced` when another file than the one that a connection has open is at its path.
    static func requireStill(_ database: Database, at path: String) throws {
        var hasMoved: CInt = 0
        // Where the system cannot say it, nothing is refused.
        let status = sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        if status == SQLITE_OK, hasMoved != 0 { throw FileIdentity.replaced(path) }
    }

    /// Throws when a connection that is to write has the file at `path` open only to be read, though this process may write it. SQLite takes a
    /// file so whenever the system does not open it to be written: for want of descriptors, say, or with an error of the disk.
    static func requireWritable(_ database: Database, at path: String) throws {
        let isReadOnly = sqlite3_db_readonly(database.sqliteConnection, "main") == 1
        if isReadOnly, access(path, W_OK) == 0 { throw DatabaseError(resultCode: .SQLITE_CANTOPEN) }
    }

    private static func prepareFile(_ path: String, createIfMissing: Bool) throws {
        if createIfMissing, FileIdentity.status(of: path) == nil, errno == ENOENT {
            try DatabaseCompanions(of: path).refuseForeign(toWrite: true)
            return try createPrivately(path)
        }
        _ = try FileIdentity(of: path)
        try OtherNames.refuse(path)
        guard access(path, W_OK) == 0 else { throw SystemErrors.failure("\(path) cannot be written", errno) }
        try FileIdentity.refuseOtherLog(path)
    }

    /// Makes the empty file with mode 0600. SQLite gives its companions the mode of the database.
    ///
    /// - Throws: `corrupt` when a write-ahead log is there without its file; `fileExists` when it has the name of what belongs to another
    ///   database.
    static func createPrivately(_ path: String) throws {
        try DatabasePath.refuseCompanion(path)
        try FileIdentity.refuseLogWithoutFile(path)
        let descriptor = SystemCall.uninterrupted { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 || errno == EEXIST else {
            throw SystemErrors.failure("\(path) cannot be made", errno)
        }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Throws when `database` is none of Penstock's, or newer than this program. Changes nothing in it.
    ///
    /// - Parameter mayBeEmpty: whether it may be one without any tables.
    private static func refuseUnusable(_ database: Database, _ path: String, mayBeEmpty: Bool) throws {
        let migrator = SchemaMigrator(path: path)
        try database.inTransaction(.deferred) {
            if try migrator.refuseNewer(database) == 0 {
                try OtherPrograms.refuseTables(in: database, path)
                if !mayBeEmpty { throw migrator.lackOfTables }
            }
            return .commit
        }
    }

    private static func configuration(_ path: String, mayBeEmpty: Bool, busyMax: Duration) -> Configuration {
        var configuration = Configuration()
        configuration.label = "penstock"
        // A reader or a recovery can meet a lock for moments. Nobody is shown it; the wait has an end all the same.
        configuration.busyMode = Patience.busyMode(upTo: busyMax)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            // A reader's connection writes nothing, and is refused most of these.
            if database.configuration.readonly { return }
            try requireWritable(database, at: path)
            // What another program has left in its write-ahead log stays there as well.
            leaveWriteAheadLog(database, FileIdentity.size(of: path + "-wal") > 0)
            // SQLite has opened the file, and opens what lies beside it as it first reads. Little time is left to put something there.
            try DatabaseCompanions(of: path).refuseForeign(toWrite: true)
            try refuseUnusable(database, path, mayBeEmpty: mayBeEmpty)
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
            // GRDB says this once more, and hears nothing of a commit that fails behind the answer: the file would have no log.
            try database.execute(sql: "PRAGMA journal_mode = WAL")
        }
        return configuration
    }
}

extension Configuration {
    /// That of a connection for `purpose`, the word by which it is told from others.
    init(_ purpose: String, readonly: Bool = false, busyMode: Database.BusyMode = .immediateError) {
        self.init()
        label = "penstock \(purpose)"
        self.readonly = readonly
        self.busyMode = busyMode
    }
}
