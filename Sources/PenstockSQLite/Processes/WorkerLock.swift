import Foundation
import PenstockCore

/// The lock by which other processes see that this one lives.
///
/// The kernel lets go of it when the process ends, by whatever means, and when the object is let go. The descriptor is
/// closed in child processes, so that none of them keeps a dead worker alive.
final class WorkerLock: Sendable {
    /// The lock file's name within the side folder.
    let name: String
    private let folder: SideFolder
    private let descriptor: Int32

    /// Makes a lock file that no other process has, and locks it.
    init(in folder: SideFolder, random: any RandomSource) throws {
        self.folder = folder
        while true {
            let name = "worker-" + String(random.next(), radix: 16)
            let file = folder.lockFile(name)
            let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor < 0, errno == EEXIST { continue }
            guard descriptor >= 0 else {
                throw PenstockError(
                    .readOnly, "\(file) cannot be made (\(String(cString: strerror(errno)))); check permissions.")
            }
            // Somebody who tidies up may have found the file before it was locked, and removed it.
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
        close(descriptor)
    }

    /// Removes the file. The lock stays until the object is let go.
    func removeFile() {
        folder.removeLockFile(name)
    }

    /// Whether the process that made the lock file `name` lives.
    static func isHeld(_ name: String, in folder: SideFolder) -> Bool {
        let descriptor = Foundation.open(folder.lockFile(name), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Removes the lock files of dead processes that no row names: those that died before their first claim.
    static func removeAbandoned(in folder: SideFolder, except named: Set<String>) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for file in files where file.hasPrefix("worker-") && !named.contains(file) {
            if !isHeld(file, in: folder) { folder.removeLockFile(file) }
        }
    }
}
