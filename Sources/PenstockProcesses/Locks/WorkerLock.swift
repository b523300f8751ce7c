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
    package convenience init(in folder: SharedFolder) throws { try self.init(in: folder, by: FileLock.alone) }

    /// - Parameter lock: locks an open file. For tests, in which the system gives no locks.
    init(in folder: SharedFolder, by lock: FileLock.Call) throws {
        self.folder = folder
        while true {
            let name = Self.prefix + UUID().uuidString.lowercased()
            guard let descriptor = try folder.make(folder.file(name)) else { continue }
            // A process that tidies up may have found the file before it was locked, and locked or removed it.
            var status = stat()
            let failure = FileLock.take(descriptor, by: lock)
            if failure == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 {
                self.name = name
                self.descriptor = descriptor
                return
            }
            close(descriptor)
            // A file system that gives no locks would give none on the next file.
            guard failure == 0 || failure == EWOULDBLOCK else {
                folder.remove(name)
                throw SystemErrors.failure("\(folder.file(name)) cannot be locked", failure)
            }
        }
    }

    /// Lets go of the lock without removing the file, as the kernel does at a process's death.
    deinit {
        FileLock.release(descriptor)
        close(descriptor)
    }

    /// Removes the file. The lock stays until the object is let go.
    package func remove() {
        folder.remove(name)
    }

    /// What others see of a worker's file.
    package struct Sight {
        /// Whether the process that made it lives.
        package var isHeld: Bool
        /// When it last said that it asks for more time for its leases, in microseconds on its boot clock; `nil` when it
        /// does not ask.
        package var askedAt: Int64?

        package init(isHeld: Bool, askedAt: Int64? = nil) {
            self.isHeld = isHeld
            self.askedAt = askedAt
        }
    }

    /// Whether the process that made the lock file `name` lives, and what it says.
    ///
    /// Without a file there is no such process, and a name that no worker gives is the name of none. A file that cannot
    /// be opened, for want of permission or of descriptors, says nothing: then it counts as alive, and the ends of its
    /// leases decide.
    package static func sight(of name: String, in folder: SharedFolder) -> Sight {
        guard isName(name) else { return Sight(isHeld: false) }
        let descriptor = SystemCall.uninterrupted { Foundation.open(folder.file(name), O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return Sight(isHeld: errno != ENOENT) }
        defer { close(descriptor) }
        guard FileLock.take(descriptor, by: FileLock.shared) != 0 else { return Sight(isHeld: false) }
        return Sight(isHeld: true, askedAt: readWord(descriptor))
    }

    /// Whether `name` is one that a worker gives its file: `worker-` and a UUID.
    ///
    /// Names come from rows that any program may write, and from a folder. A path to another file is never one.
    package static func isName(_ name: String) -> Bool {
        let rest = name.utf8.dropFirst(prefix.utf8.count)
        return name.utf8.starts(with: prefix.utf8) && rest.count == uuidLength
            && rest.allSatisfy { $0 == UInt8(ascii: "-") || Character(UnicodeScalar($0)).isHexDigit }
    }

    /// Removes the file `name` of a dead worker. What has another name than a worker's stays.
    package static func removeFile(_ name: String, in folder: SharedFolder) {
        if isName(name) { folder.remove(name) }
    }

    private static let uuidLength = 36

    // MARK: The word that it asks for more time

    // The file is empty, or has 16 bytes: the moment on the boot clock in microseconds, 0 for none, and the same with all
    // bits turned over. A word that somebody reads while it is written does not agree with itself, and is read again.

    /// Says at `moment` that this process asks for more time for its leases; `nil`: that it does not ask any more.
    ///
    /// A word that cannot be written, on a full disk, is none: then the ends of the leases decide.
    package func ask(at moment: Int64?) {
        var word = [moment ?? 0, ~(moment ?? 0)]
        SystemCall.uninterrupted { pwrite(descriptor, &word, Self.wordLength, 0) }
    }

    private static func readWord(_ descriptor: Int32) -> Int64? {
        for _ in 1...readsOfWord {
            var word: [Int64] = [0, 0]
            let count = SystemCall.uninterrupted { pread(descriptor, &word, wordLength, 0) }
            guard count == wordLength else { return nil }
            if word[0] == ~word[1] { return word[0] == 0 ? nil : word[0] }
        }
        return nil
    }

    private static let wordLength = 16
    private static let readsOfWord = 3

    /// Removes the lock files that no process holds: of processes that were killed before their row was written or
    /// after it was deleted.
    ///
    /// A file is removed under its own lock. So one that was just made, and is not locked yet, is not taken from its
    /// maker unseen: its maker finds it locked or gone, and makes another.
    package static func removeAbandoned(in folder: SharedFolder) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for file in files where isName(file) {
            let descriptor = SystemCall.uninterrupted { Foundation.open(folder.file(file), O_RDWR | O_CLOEXEC) }
            if descriptor < 0 { continue }
            if FileLock.take(descriptor) == 0 { folder.remove(file) }
            close(descriptor)
        }
    }

    /// How the names of workers' files begin.
    package static let prefix = "worker-"
}
