import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Other names of a database's file: hard links to it, or another place that it was mounted from. SQLite's companions and the workers'
/// locks go by the name: programs that come by different ones see nothing of each other, and overwrite what the others have written.
enum OtherNames {
    /// Throws `invalidInput` when the file at `path` has any. This comes before SQLite opens it: a log that it begins beside this name may
    /// stay there, and the next program that comes by this name writes those old pages into the file.
    static func refuse(_ path: String) throws {
        if let refusal = refusal(path) { throw refusal }
    }

    /// Throws `invalidInput` when the file at `path` has any and a program has it open: the newest messages lie in a log beside
    /// another name, and are not seen.
    static func refuseUse(_ path: String) throws {
        if let refusal = refusal(path), isOpen(path) { throw refusal }
    }

    private static func refusal(_ path: String) -> PenstockError? {
        if FileMount.isMounted(path) {
            return PenstockError(
                .invalidInput,
                "\(path) is mounted by itself, without what lies beside it, so its users here and elsewhere would not see each other's "
                    + "messages; mount its folder.")
        }
        guard let status = FileIdentity.status(of: path), status.st_nlink > 1 else { return nil }
        return PenstockError(
            .invalidInput,
            "\(path) has \(status.st_nlink) names (hard links), whose users would not see each other's messages; remove all but "
                + "one.")
    }

    // They stay open: closing any descriptor of a file drops all POSIX locks that this process has on it, and it may be at work by another
    // name in this process as well.
    private static let descriptors = Mutex<[FileNumber: CInt]>([:])

    /// Which byte of a database with a write-ahead log each connection holds a lock on while it is open: `SHARED_FIRST` of
    /// https://sqlite.org/src/file/src/os.h.
    private static let sharedLockOffset = 0x4000_0002

    /// Whether a program has the file at `path` open, by whatever name.
    private static func isOpen(_ path: String) -> Bool {
        guard let status = FileIdentity.status(of: path) else { return false }
        return descriptors.withLock { descriptors in
            let descriptor = descriptors[FileNumber(status)] ?? open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            descriptors[FileNumber(status)] = descriptor
            return ByteLock(descriptor: descriptor, offset: sharedLockOffset).isHeldByOthers
        }
    }
}
