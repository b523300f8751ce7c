import Foundation
import PenstockCore
import PenstockProcesses

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
