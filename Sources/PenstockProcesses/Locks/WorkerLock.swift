import Foundation
import PenstockCore

/// The lock by which other processes see that this one lives.
///
/// The kernel lets go of it when the process ends, by whatever means, and when the object is let go. The descriptor is
/// closed in child processes, so that none of them keeps a dead worker alive.
package final class WorkerLock: Sendable {
    /// The lock file's name within the side folder.
    package let name: String
    private let folder: SharedFolder
    private let descriptor: Int32

    /// Makes a lock file that no other process has, and locks it.
    package init(in folder: SharedFolder) throws {
        self.folder = folder
        while true {
            let name = Self.prefix + UUID().uuidString.lowercased()
            guard let descriptor = try folder.make(folder.lockFile(name)) else { continue }
            // Somebody who tidies up may have found the file before it was locked, and locked or removed it.
            var status = stat()
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 {
                self.name = name
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    /// Lets go of the lock without removing the file, as the kernel does at a process's death.
    deinit {
        // Said, and not only by closing: a child that was just forked has the descriptor until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Removes the file. The lock stays until the object is let go.
    package func removeFile() {
        folder.removeLockFile(name)
    }

    /// Whether the process that made the lock file `name` lives.
    ///
    /// Without a file there is no such process. A file that cannot be looked at, for want of permission or of
    /// descriptors, says nothing: then it counts as alive, and the ends of its leases decide.
    package static func isHeld(_ name: String, in folder: SharedFolder) -> Bool {
        let descriptor = Foundation.open(folder.lockFile(name), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno != ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Removes the lock files that no process holds: of processes that were killed before their row was written or
    /// after it was deleted.
    ///
    /// A file is removed under its own lock. So one that was just made, and is not locked yet, is not taken from its
    /// maker unseen: its maker finds it locked or gone, and makes another.
    package static func removeAbandoned(in folder: SharedFolder) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for file in files where file.hasPrefix(prefix) {
            let descriptor = Foundation.open(folder.lockFile(file), O_RDWR | O_CLOEXEC)
            if descriptor < 0 { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { folder.removeLockFile(file) }
            close(descriptor)
        }
    }

    /// How the names of workers' files begin.
    package static let prefix = "worker-"
}
