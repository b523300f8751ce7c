import Foundation
import PenstockCore

/// The folder `NAME-penstock` beside a database: the doorbell, the turnstile and one lock file for each worker.
///
/// None of these locks lies on the database or its `-shm`: a process that closes any descriptor of those drops all of
/// SQLite's own locks on them. The folder holds no data. It can be deleted when no process has the database open.
struct SideFolder: Sendable {
    let path: String

    /// The folder beside `databasePath`, made with mode 0700 when it is missing.
    init(besideDatabaseAt databasePath: String) throws {
        path = databasePath + "-penstock"
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw PenstockError(
                .readOnly, "The folder \(path) cannot be made (\(String(cString: strerror(errno)))); check permissions."
            )
        }
    }

    /// The folder beside `databasePath` as it is, for somebody who only looks.
    init(existingBesideDatabaseAt databasePath: String) {
        path = databasePath + "-penstock"
    }

    /// The file that is written to after a commit that somebody may wait for.
    var doorbell: String { path + "/doorbell" }

    /// The file whose lock puts writers of several processes in line.
    var turnstile: String { path + "/turnstile" }

    /// The lock file of the worker `lockName`.
    func lockFile(_ lockName: String) -> String { path + "/" + lockName }

    /// Removes the lock file of a worker that is no more.
    func removeLockFile(_ lockName: String) {
        unlink(lockFile(lockName))
    }

    /// Opens `file` for reading and writing, made with mode 0600 when it is missing, closed in child processes.
    static func open(_ file: String, exclusively: Bool = false) throws -> Int32 {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | (exclusively ? O_EXCL : 0)
        let descriptor = Foundation.open(file, flags, 0o600)
        guard descriptor >= 0 else {
            throw PenstockError(
                .readOnly, "\(file) cannot be opened (\(String(cString: strerror(errno)))); check permissions.")
        }
        return descriptor
    }
}
