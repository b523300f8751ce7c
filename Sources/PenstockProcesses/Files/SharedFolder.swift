import Foundation
import PenstockCore

/// The folder `NAME-penstock` beside a database: the doorbell, the turnstile, the handover and one lock file for each
/// worker.
///
/// None of these locks lies on the database or its `-shm`: a process that closes any descriptor of those drops all of
/// SQLite's own locks on them. The folder holds no data. It can be deleted when no process has the database open.
///
/// Who may use the database may use the folder: its files have the database's mode, and are given to its owner when
/// root makes them, as SQLite does with its companions.
package struct SharedFolder: Sendable {
    package let path: String
    private let database: String

    /// The folder beside `databasePath`, which is resolved; made when it is missing.
    package init(besideDatabaseAt databasePath: String) throws {
        self.init(existingBesideDatabaseAt: databasePath)
        if mkdir(path, 0o700) == 0 {
            let mode = rights.mode
            chmod(path, mode | (mode & 0o444) >> 2)
            if let owner = rights.owner { _ = chown(path, owner.user, owner.group) }
        } else if errno != EEXIST {
            throw SystemErrors.failure("The folder \(path) cannot be made", errno)
        }
    }

    /// The folder beside `databasePath` as it is, for somebody who only looks.
    package init(existingBesideDatabaseAt databasePath: String) {
        database = databasePath
        path = databasePath + "-penstock"
    }

    /// The file that is written to after a commit that somebody may wait for.
    package var doorbell: String { path + "/doorbell" }

    /// The file whose lock puts writers of several processes in line.
    package var turnstile: String { path + "/turnstile" }

    /// The file through which writers of several processes share transactions.
    package var handover: String { path + "/handover" }

    /// The lock file of the worker `lockName`.
    package func lockFile(_ lockName: String) -> String { path + "/" + lockName }

    /// Removes the lock file of a worker that is no more.
    package func removeLockFile(_ lockName: String) {
        unlink(lockFile(lockName))
    }

    /// Opens `file` for reading and writing, made when it is missing, closed in child processes.
    package func open(_ file: String) throws -> Int32 {
        while true {
            let existing = Foundation.open(file, O_RDWR | O_CLOEXEC)
            if existing >= 0 { return existing }
            guard errno == ENOENT else { throw SystemErrors.failure("\(file) cannot be opened", errno) }
            if let new = try make(file) { return new }
        }
    }

    /// Makes `file` and opens it for reading and writing, closed in child processes; `nil` when it is there already.
    package func make(_ file: String) throws -> Int32? {
        let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw SystemErrors.failure("\(file) cannot be made", errno)
        }
        let rights = rights
        fchmod(descriptor, rights.mode)
        if let owner = rights.owner { _ = fchown(descriptor, owner.user, owner.group) }
        return descriptor
    }

    /// The database's bits for reading and writing and, for root, its owner.
    private var rights: (mode: mode_t, owner: (user: uid_t, group: gid_t)?) {
        var status = stat()
        guard stat(database, &status) == 0 else { return (0o600, nil) }
        return (status.st_mode & 0o666 | 0o600, geteuid() == 0 ? (status.st_uid, status.st_gid) : nil)
    }
}
