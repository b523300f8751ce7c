import Foundation
import PenstockCore
import PenstockProcesses

/// Which file it is, whatever its name: one that was put in its place is another one.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// The file that is at `path` now.
    ///
    /// - Throws: `notFound` when there is none, `notADatabase` when it cannot be one.
    init(of path: String) throws {
        guard let status = Self.status(of: path) else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw SystemErrors.failure("\(path) cannot be looked at", errno)
            }
            throw PenstockError(.notFound, "There is no file at \(path); `penstock queue create` makes one.")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw PenstockError(
                .notADatabase,
                "\(path) is \(status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no regular file"), and not an SQLite "
                    + "database.")
        }
        self.init(status)
    }

    /// Throws `fileReplaced` when another file, or none, is at `path` now.
    func requireStill(at path: String) throws {
        if let status = Self.status(of: path), FileIdentity(status) == self { return }
        throw PenstockError(
            .fileReplaced, "\(path) was removed or replaced while it was open; close the store and open it again.")
    }

    /// What the file system says of the file at `path`; `nil` when it says nothing, and `errno` why.
    static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }
}
