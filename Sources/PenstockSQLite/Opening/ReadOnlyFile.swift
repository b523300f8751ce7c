import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import Synchronization

/// A file that is read, and never written: neither the file, nor its companions, nor its folder.
///
/// SQLite's readers of a write-ahead log share memory with its writers, a file `-shm` beside the database, and make it
/// when it is missing. So a connection is opened in one of two ways (https://sqlite.org/wal.html#readonly):
/// - While there is one, some program may be writing. An ordinary connection reads beside it, also when it may write to
///   none of the files, and is kept for the next reading.
/// - Without one no program has the file open in a way that could change it, and all that was written is in the file
///   itself. It is opened as one that does not change (`immutable`), and stays open while it has not (``StillConnection``):
///   after each reading it is asked whether any program has begun to write meanwhile, and then it is read again.
///
/// A file of several names that nobody works by this one is read in the second way alone (``OtherNames``).
///
/// A program that finds the disk full as it opens the file leaves a `-shm` behind that is too small, and an empty log. No ordinary connection
/// can be had beside these before there is room, and the file is read in the second way.
final class ReadOnlyFile: Sendable {
    private enum State {
        case idle
        /// Beside writers.
        case open(DatabaseQueue, OpenCompanions)
        case closed
    }

    /// How often a file that is written to by turns is read again.
    private static let attemptsMax = 100

    let path: String
    private let busyMax: Duration
    private let refuse: @Sendable (Database) throws -> Void
    /// The file that was there at the beginning. Another one of its name is not read.
    private let identity: FileIdentity
    private let tables = KnownTables()
    /// While nobody writes.
    let still: StillConnection
    private let state = Mutex(State.idle)

    /// Looks at the file at `path`, which is resolved.
    ///
    /// - Parameters:
    ///   - settledSeconds: for how long the file must not have been written to, for a connection to be kept while nobody writes.
    ///   - refuse: throws when the file cannot be used; `nil`: unless it has the tables that reading asks for.
    /// - Throws: `notFound`, `notADatabase`, `newerSchema`, `olderSchema`, `readOnly` when it may not be read, `fileReplaced` when
    ///   another file's write-ahead log lies beside it. `readOnly` also when SQLite would have to read what may be another user's.
    init(
        _ path: String, busyMax: Duration, settledSeconds: Int = 2,
        refuse: (@Sendable (Database) throws -> Void)? = nil
    ) throws {
        self.path = path
        still = StillConnection(settledSeconds: settledSeconds)
        self.busyMax = busyMax
        self.refuse = refuse ?? { try SchemaMigrator(path: path).refuseUnreadable($0) }
        identity = try FileIdentity(of: path)
        guard access(path, R_OK) == 0 else { throw SystemErrors.failure("\(path) cannot be read", errno) }
        try FileIdentity.refuseOtherLog(path)
        try read { _ in }
    }

    /// Gives `body` a snapshot to read. Blocks.
    ///
    /// - Parameter body: is called again when what it has read may be of two moments.
    /// - Throws: what `body` throws; `fileReplaced` when the file is no longer the one at its path; `corrupt` when it has
    ///   lost a table since the last reading; `closed`.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        for _ in 1...Self.attemptsMax {
            try identity.requireStill(at: path)
            if let (connection, companions) = try openConnection {
                try companions.requireStill()
                // Only programs that have the file open write into it, so it is enough to look before.
                return try connection.read { try look($0, body) }
            }
            var stillness = try FileStillness.look(path)
            let isBesideWriters = stillness == nil
            if isBesideWriters {
                do {
                    try connect()
                    continue
                } catch  where StorageErrors.isFullDisk(error, path) {
                    stillness = FileStillness(path, besideEmptyLog: true)
                    if stillness == nil { throw error }
                }
            }
            guard let looked = stillness else { continue }
            let result = Result { try still.read(looked, opening: openStill) { try look($0, body) } }
            let now = try isBesideWriters ? FileStillness(path, besideEmptyLog: true) : FileStillness.look(path)
            if now == stillness { return try result.get() }
        }
        throw PenstockError(.busy, "\(path) was written to at every look; look again.")
    }

    private func look<T>(_ database: Database, _ body: (Database) throws -> T) throws -> T {
        try tables.look(SQLiteConnection(database), path)
        return try body(database)
    }

    /// Lets go of the file. Every later reading throws `closed`.
    func close() throws {
        let old = state.withLock { state in
            defer { state = .closed }
            return state
        }
        if case .open(let connection, _) = old { try connection.close() }
        try still.close()
    }

    private var openConnection: (DatabaseQueue, OpenCompanions)? {
        get throws {
            switch state.withLock({ $0 }) {
            case .idle: return nil
            case .open(let connection, let companions): return (connection, companions)
            case .closed: throw PenstockError(.closed, "The store is closed; open it again.")
            }
        }
    }

    /// Opens the file beside programs that may be writing it.
    private func connect() throws {
        let beside = DatabaseCompanions(of: path)
        try beside.refuseForeign(toWrite: false)
        let connection = try Patience.whileLocked(upTo: busyMax) {
            let connection = try DatabaseQueue(path: path, configuration: configuration)
            try connection.read(refuse)
            return connection
        }
        // Another user may have made one since.
        try beside.refuseForeign(toWrite: false)
        // Another thread may have been first, or may have closed the store.
        let companions = OpenCompanions(of: path)
        state.withLock { if case .idle = $0 { $0 = .open(connection, companions) } }
        try still.letGo()
    }

    private func openStill() throws -> DatabaseQueue {
        let connection = try DatabaseQueue(path: FileStillness.immutable(path), configuration: configuration)
        try connection.read(refuse)
        return connection
    }

    private var configuration: Configuration {
        Configuration("reader", readonly: true, busyMode: Patience.busyMode(upTo: busyMax))
    }

    /// SQLite does not say why it cannot open a file. Beside a write-ahead log without its `-shm` it must be able to make that one;
    /// where nothing is in its way, this process has too many files open.
    private static func mayBeOpened(_ path: String) -> Bool {
        access(path, R_OK) == 0
            && (access(path + "-shm", R_OK) == 0 || access(SharedFolder.parent(of: path), W_OK) == 0)
    }

    /// What an error of a reading means to people, about the file at `path`.
    static func translated(_ error: any Error, _ path: String) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        switch error.resultCode {
        case .SQLITE_CANTOPEN where !mayBeOpened(path):
            return PenstockError(
                .readOnly,
                "\(path) has a write-ahead log that cannot be read here; let a program that may write the file open it once.",
                cause: error)
        case .SQLITE_READONLY:
            return PenstockError(
                .readOnly,
                "\(path) was left in the middle of a change, by a program that died; let one that may write the file "
                    + "open it once.",
                cause: error)
        default:
            return StorageErrors.translated(error, path: path)
        }
    }
}
