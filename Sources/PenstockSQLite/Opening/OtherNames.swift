import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Other names of a database's file: hard links to it, or another place that it was mounted from. SQLite's companions and the workers'
/// locks go by the name: programs that come by different ones see nothing of each other, and overwrite what the others have written.
enum OtherNames {
    /// Throws `invalidInput` when the file at `path` has any. This comes before SQLite opens it to write: a log that it begins beside this
    /// name may stay there, and the next program that comes by this name writes those old pages into the file.
    static func refuse(_ path: String) throws {
        if let refusal = refusal(path) { throw refusal }
    }

    /// Whether the file at `path` has any and nobody has it open by this one: then it is read as one that does not change, and nothing is
    /// made beside it.
    ///
    /// - Throws: `invalidInput` when a program has it open by another one: the newest messages lie in a log there, and are not seen.
    static func mustBeStill(_ path: String) throws -> Bool {
        guard let refusal = refusal(path), !isHeld(path + "-shm", indexLock) else { return false }
        if isHeld(path, databaseLock) { throw refusal }
        return true
    }

    /// Why the file at `path` is not written; `nil`: it has one name.
    static func refusal(_ path: String) -> PenstockError? {
        guard let status = FileIdentity.status(of: path), status.st_mode & S_IFMT == S_IFREG else { return nil }
        if FileMount.isMounted(path) {
            return PenstockError(
                .invalidInput,
                "\(path) is mounted by itself, without what lies beside it, so its users here and elsewhere would not see each other's "
                    + "messages; mount its folder.")
        }
        guard status.st_nlink > 1 else { return nil }
        return PenstockError(
            .invalidInput,
            "\(path) has \(status.st_nlink) names (hard links), whose users would not see each other's messages; remove all but "
                + "one.")
    }

    // MARK: Locks of those that have it open

    /// The bytes that each connection has a lock on while it has a database with a write-ahead log open: of the file, `SHARED_FIRST` of
    /// https://sqlite.org/src/file/src/os.h, and of the index of its log, `UNIX_SHM_DMS` of https://sqlite.org/src/file/src/os_unix.c.
    private static let (databaseLock, indexLock) = (0x4000_0002, 128)

    // They stay open: closing any descriptor of a file drops all POSIX locks that this process has on it, those of SQLite included.
    private static let descriptors = Mutex<[FileNumber: CInt]>([:])

    private static func isHeld(_ path: String, _ offset: Int) -> Bool {
        descriptors.withLock { descriptors in
            closeRemoved(&descriptors)
            guard let status = FileIdentity.status(of: path), status.st_mode & S_IFMT == S_IFREG else { return false }
            let descriptor =
                descriptors[FileNumber(status)]
                ?? SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
            guard descriptor >= 0 else { return false }
            descriptors[FileNumber(status)] = descriptor
            return isHeld(descriptor, offset)
        }
    }

    /// Files that have no name any more, and that nobody has open, give their room back.
    private static func closeRemoved(_ descriptors: inout [FileNumber: CInt]) {
        for (number, descriptor) in descriptors {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_nlink == 0 else { continue }
            if isHeld(descriptor, databaseLock) || isHeld(descriptor, indexLock) { continue }
            close(descriptor)
            descriptors[number] = nil
        }
    }

    private static func isHeld(_ descriptor: CInt, _ offset: Int) -> Bool {
        if ByteLock.isKnown { return ByteLock(descriptor: descriptor, offset: offset).isHeldByOthers }
        // Knows nothing of this process's own locks.
        var lock = flock()
        (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
        (lock.l_start, lock.l_len) = (off_t(offset), 1)
        return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
}
