import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What SQLite reports, as what it means to people.
enum StorageErrors {
    /// Whether `error` says that there is no room on the disk of the file at `path`.
    static func isFullDisk(_ error: any Error, _ path: String) -> Bool {
        (translated(error, path: path) as? PenstockError)?.code == .diskFull
    }

    /// `error` as a ``PenstockError`` about the file at `path`; errors that are one already, and cancellation, pass.
    ///
    /// - Parameter place: where the file lies, if it has another name until it is whole.
    static func translated(_ error: any Error, path: String, lyingAt place: String? = nil) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        let detail = error.message ?? "no detail"
        func failure(_ code: PenstockError.Code, _ message: String) -> PenstockError {
            PenstockError(code, message, cause: error)
        }
        func diskFull(_ other: (cause: String, remedy: String) = ("", "")) -> PenstockError {
            failure(
                .diskFull,
                "No room is left on the disk of \(path), or for its user or this process (a quota, or `ulimit -f`)\(other.cause); make "
                    + "room\(other.remedy), and try again: what was not acknowledged was not stored."
            )
        }
        switch error.resultCode {
        case .SQLITE_NOTADB:
            return failure(.notADatabase, "\(path) is not an SQLite database; nothing was changed.")
        case .SQLITE_CORRUPT:
            return failure(
                .corrupt, "\(path) is damaged; stop its writers, keep a copy, and run `penstock doctor` on it.")
        case .SQLITE_CONSTRAINT:
            var contradiction = failure(
                .corrupt, "\(path) contradicts itself (\(detail)); run `penstock doctor --repair`.")
            contradiction.contradiction = detail
            return contradiction
        case .SQLITE_FULL:
            return diskFull()
        case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE:
            // The memory that the processes share beside the file is a file, too, and could not grow. SQLite does not say why.
            return diskFull((", or the disk reports an error", " or see to the disk"))
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            return failure(.readOnly, "\(path) or its folder cannot be written; check the permissions of both.")
        case .SQLITE_CANTOPEN where mayBeOpened(place ?? path):
            let why =
                hasTooManyFilesOpen
                ? "perhaps this process has too many files open (`ulimit -n`)."
                : "is its disk full, also of inodes (`df -i`), or does it report errors?"
            return failure(
                .storage, "\(path) or a file beside it cannot be opened, though their permissions allow it; \(why)")
        case .SQLITE_CANTOPEN:
            return failure(
                .readOnly,
                "\(path) or a file beside it cannot be opened; check that its folder exists, and that it and they may be written."
            )
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return failure(
                .busy, "Another program holds \(path) for writing and does not let go; end its transaction.")
        case .SQLITE_PROTOCOL:
            return failure(
                .busy,
                "Another program has \(path) in hand, as it begins to use it or puts its log in order after a crash, and does not come to "
                    + "an end; wait for it, or end it.")
        case .SQLITE_MISUSE where error.message == "Connection is closed":
            // GRDB's own word for a pool that was closed.
            return failure(.closed, "The store is closed; open it again.")
        case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_WRITE:
            return failure(
                .storage,
                "\(path) cannot be written: the disk reports an error, or files may not be so large (`ulimit -f`) or take so much of it "
                    + "(a quota).")
        case .SQLITE_IOERR:
            return failure(.storage, "The disk of \(path) reported an error: \(detail).")
        case .SQLITE_INTERRUPT where Task.isCancelled:
            // A reading ends in the middle of a statement when its task is cancelled.
            return CancellationError()
        case .SQLITE_ERROR where detail.contains("no such table: penstock_"):
            return failure(.corrupt, "\(path) has lost a part of its schema (\(detail)); restore it from a copy.")
        case .SQLITE_ERROR where isOfSchema(detail):
            return failure(
                .corrupt, "\(path) has not the schema that it says (\(detail)); run `penstock doctor` on it.")
        default:
            return failure(.storage, "SQLite reported an error on \(path): \(detail).")
        }
    }

    /// What `body` returns, in which GRDB opens the file at `path`: it asks Foundation how long the log beside it is.
    static func opening<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as CocoaError {
            throw PenstockError(
                .storage, "\(path)-wal cannot be looked at; does its disk report errors?", cause: error)
        }
    }

    /// Whether `message` says that a statement of Penstock's does not fit the tables: no later try could help.
    private static func isOfSchema(_ message: String) -> Bool {
        ["no such index: penstock_", "no such column: ", "no query solution", " has no column named "]
            .contains { message.contains($0) }
    }

    /// SQLite does not say why a file cannot be opened. Whether it is for want of permission can be seen.
    private static func mayBeOpened(_ path: String) -> Bool {
        // SQLite makes the companions with the database's mode, but they have their maker's group.
        let companions = DatabaseCompanions.ends.map { path + $0 }.filter { access($0, F_OK) == 0 }
        return ([path] + companions).allSatisfy { access($0, R_OK | W_OK) == 0 }
            && access(SharedFolder.parent(of: path), R_OK | W_OK | X_OK) == 0
    }

    /// So many files a connection and its readers open. SQLite has closed those again that it could open before it failed.
    private static let filesOfConnections = 8

    /// Whether this process may not open as many files more as the connections of a store.
    private static var hasTooManyFilesOpen: Bool {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 1...filesOfConnections {
            let descriptor = SystemCall.uninterrupted { open("/dev/null", O_RDONLY | O_CLOEXEC) }
            if descriptor < 0 { return errno == EMFILE || errno == ENFILE }
            descriptors.append(descriptor)
        }
        return false
    }
}
