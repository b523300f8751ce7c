import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import Synchronization
import PenstockSQL

/// Where a database really lies.
///
/// SQLite follows symbolic links and puts its companions beside the file that they lead to. The store's side folder
/// must lie there as well, or two processes that came by different names would not see each other's locks, and each
/// would take the other for dead. So every path is made absolute and free of links first. That also makes names such
/// as `:memory:` and `file:x`, which SQLite would read in its own way, plain names of files.
enum DatabasePath {
    /// Bytes of a path that SQLite takes, with the longest name that it puts beside a file (`MAX_PATHNAME` of its VFS for Unix).
    static let bytesMax = 504
    /// Bytes of a file's name (`NAME_MAX`).
    static let fileNameBytesMax = 255
    /// Bytes of a database's name, with the longest one beside it, that of the store's folder.
    private static let nameBytesMax = fileNameBytesMax - "-penstock".utf8.count
    /// Links followed before a path counts as a circle.
    private static let linksMax = 40

    /// The absolute path, free of links, of the file that `path` leads to or would make.
    ///
    /// - Throws: `invalidInput` when `path` is empty or too long, `notFound` when its folder does not exist.
    static func resolved(_ path: String, links: Int = 0) throws -> String {
        try require(
            !path.isEmpty && !path.utf8.contains(0), "The path of a database cannot be empty or hold a zero byte.")
        if let real = realPath(path) { return try short(real) }
        if let target = linkTarget(path) {
            guard links < linksMax else {
                throw PenstockError(.notFound, "\(path) is a link that leads to itself.")
            }
            let folder = target.hasPrefix("/") ? "" : SharedFolder.parent(of: path) + "/"
            return try resolved(folder + target, links: links + 1)
        }
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty else {
            throw PenstockError(.notFound, "There is no folder \(path), and it names no file.")
        }
        guard let real = realPath(SharedFolder.parent(of: path)) else {
            throw SystemErrors.failure("The folder of \(path) cannot be found", errno)
        }
        return try short((real == "/" ? "" : real) + "/" + name)
    }

    private static func short(_ path: String) throws -> String {
        try require(
            path.utf8.count <= bytesMax,
            "\(path) has \(path.utf8.count) bytes, and SQLite takes paths of \(bytesMax) at most; move the file to a folder nearer "
                + "to the root.")
        let nameBytes = nameByteCount(path)
        try require(
            nameBytes <= nameBytesMax,
            "The name of \(path) has \(nameBytes) bytes, and with what lies beside it there is room for \(nameBytesMax); take a "
                + "shorter one.")
        return path
    }

    /// How many bytes the name has that `path` ends with.
    static func nameByteCount(_ path: String) -> Int { path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count }

    /// Throws `fileExists` for the name of what SQLite, or Penstock, has beside a database that is there: they would take the file for
    /// their own, and remove it.
    static func refuseCompanion(_ path: String) throws {
        for end in DatabaseCompanions.ends + ["-penstock"] where path.hasSuffix(end) {
            let database = String(path.dropLast(end.count))
            var status = stat()
            if lstat(database, &status) == 0 {
                throw PenstockError(
                    .fileExists, "\(path) is a name of what belongs to the database \(database); name another file.")
            }
        }
    }

    /// The path of the file that `path` leads to, free of links: SQLite's companions and the workers' locks lie there.
    ///
    /// - Throws: `notFound` when there is none, `notADatabase` when it cannot be one, `corrupt` when it was cut to nothing, `fileReplaced`
    ///   when another file's write-ahead log lies beside it.
    static func existing(_ path: String) throws -> String {
        let path = try resolved(path)
        _ = try FileIdentity(of: path)
        try FileIdentity.refuseOtherLog(path)
        return path
    }

    /// The value of `body`, which works on the file that `path` leads to. It is given the path free of links, and may block.
    ///
    /// - Throws: what `body` throws, as it means to people; what ``existing(_:)`` throws if the file must exist, and
    ///   otherwise what ``resolved(_:links:)`` throws.
    static func use<T: Sendable>(
        _ path: String, mustExist: Bool = false, _ body: @escaping @Sendable (String) throws -> T
    ) async throws -> T {
        try await SystemThread.run {
            let path = try mustExist ? existing(path) : resolved(path)
            do {
                return try body(path)
            } catch {
                throw StorageErrors.translated(error, path: path)
            }
        }
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func linkTarget(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
}

/// Which file it is, whatever its name: one that was put in its place is another one.
struct FileIdentity: Equatable {
    private let number: FileNumber
    /// Whether it had no bytes, as a file that is yet to be made a database.
    private let isEmpty: Bool

    init(_ status: stat) {
        number = FileNumber(status)
        isEmpty = status.st_size == 0
    }

    static func == (left: FileIdentity, right: FileIdentity) -> Bool {
        left.number == right.number
    }

    /// The file that is at `path` now.
    ///
    /// - Throws: `notFound` when there is none, `notADatabase` when it cannot be one, `corrupt` when it is gone, or has lost
    ///   all its bytes, beside its write-ahead log: SQLite would take that for an old one, and remove it.
    init(of path: String, look: (String) -> stat? = status) throws {
        guard let status = look(path) else {
            guard SystemErrors.isNothingThere else {
                throw SystemErrors.failure("\(path) cannot be looked at", errno)
            }
            try Self.refuseLogWithoutFile(path)
            throw PenstockError(.notFound, "There is no file at \(path); `penstock queue create` makes one.")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw PenstockError(
                .notADatabase,
                "\(path) is \(status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no regular file"), and not an SQLite "
                    + "database.")
        }
        self.init(status)
        // A new file has its first page before it has a write-ahead log. So one that another process is just making has
        // bytes when it is looked at again after its log.
        if isEmpty, let log = look(path + "-wal"), log.st_size > 0, look(path)?.st_size == 0 {
            throw PenstockError(
                .corrupt,
                "\(path) was cut to 0 bytes, and only its write-ahead log is left beside it; stop its programs and restore "
                    + "it from a copy, or move \(path)-wal away to begin anew.")
        }
    }

    /// Throws `corrupt` when no file is at `path`, and its write-ahead log is: that may hold all messages.
    static func refuseLogWithoutFile(_ path: String) throws {
        // Another process that is just making the file has it before it has a log.
        guard let log = status(of: path + "-wal"), log.st_size > 0, status(of: path) == nil else { return }
        throw PenstockError(
            .corrupt,
            "\(path) is missing, and its write-ahead log is left; put the file back, or move \(path)-wal away to begin "
                + "anew.")
    }

    /// Throws `fileReplaced` when another file, or none, is at `path` now, and `corrupt` when it has lost all its bytes.
    func requireStill(at path: String) throws {
        guard let status = Self.status(of: path) else {
            if SystemErrors.isNothingThere { throw Self.replaced(path) }
            return
        }
        guard FileIdentity(status) == self else { throw Self.replaced(path) }
        // What a connection has in memory still looks whole.
        if status.st_size == 0, !isEmpty {
            throw PenstockError(
                .corrupt,
                "\(path) was cut to 0 bytes while it was open; stop its programs and restore it from a copy.")
        }
    }

    /// Throws `fileReplaced` when the write-ahead log beside the file at `path` belongs to one that was there before.
    static func refuseOtherLog(_ path: String) throws {
        if LogOwner.isAnother(at: path) { throw replaced(path) }
    }

    /// The error for a file that is not the one that was open, or whose write-ahead log lies beside it.
    static func replaced(_ path: String) -> PenstockError {
        // Also an empty one is in the way: no file is opened beside another one's log. One that cannot be looked at may be there.
        guard status(of: path + "-wal") != nil || !SystemErrors.isNothingThere else {
            return PenstockError(
                .fileReplaced,
                "\(path) was removed or replaced while it was open; put that file back, or go on with the one that is there, and "
                    + "start again.")
        }
        return PenstockError(
            .fileReplaced,
            "\(path) was removed or replaced while it was open, and \(path)-wal, which may hold messages, belongs to the file that was "
                + "there; stop its programs, put that file back, or move \(path)-wal and \(path)-shm away to go on without it, and "
                + "start again.")
    }

    /// The size of the file at `path`; 0 when there is none.
    static func size(of path: String) -> Int64 { status(of: path).map { Int64($0.st_size) } ?? 0 }

    /// What the file system says of the file at `path`; `nil` when it says nothing, and `errno` why.
    static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }
}

/// Which tables of Penstock's an open file has. One that somebody drops is missed only by a statement that asks for it, and a
/// task that waits for messages may ask for none of it for ever.
final class KnownTables: Sendable {
    private struct Seen {
        /// SQLite's own count of changes to the schema.
        var version: Int64
        var names: Set<String>
        var loss: PenstockError?
    }

    private let seen = Mutex<Seen?>(nil)

    /// Throws when a ``look(_:_:)`` has found that a table is gone. Asks nothing of SQLite.
    func requireStill() throws {
        if let loss = seen.withLock({ $0?.loss }) { throw loss }
    }

    /// Looks whether all tables are there that were at the look before. While nobody has changed the schema, that is one
    /// number to ask for.
    ///
    /// - Throws: `corrupt` when one is gone; `newerSchema` when a newer program has taken it away.
    func look(_ connection: SQLiteConnection, _ path: String) throws {
        try requireStill()
        let version = try connection.integer(Self.version) ?? 0
        let before = seen.withLock { $0 }
        // Less is an older snapshot's, which began before another thread looked.
        if let before, version <= before.version { return }
        let names = Set(try connection.all(Self.names) { $0.text(0) ?? "" })
        let loss = before?.names.subtracting(names).min().map { self.loss(of: $0, connection, path) }
        seen.withLock { if version > $0?.version ?? .min { $0 = Seen(version: version, names: names, loss: loss) } }
        try requireStill()
    }

    private func loss(of table: String, _ connection: SQLiteConnection, _ path: String) -> PenstockError {
        do {
            _ = try SchemaMigrator(path: path).refuseNewer(connection.database)
        } catch let error as PenstockError {
            return error
        } catch {}
        return PenstockError(
            .corrupt, "\(path) has lost a part of its schema (no such table: \(table)); restore it from a copy.")
    }

    private static let version = Query("PRAGMA schema_version")
    private static let names = Query(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name GLOB 'penstock_*'")
}
