import Foundation
package import PenstockCore

/// The right of one program to put a socket into its place in the file system, from before it looks whether another one listens
/// there. A server, which makes a draft first, keeps it until its socket is removed.
///
/// Without it, of two programs that find the socket of a dead one each could remove what the other has made since it looked. The lock
/// goes with its process; the file that a killed one leaves is the next one's.
package struct SocketLock: Sendable {
    private let path: String
    private let descriptor: Int32

    package static func file(of path: String) -> String { path + "~lock" }

    /// Takes the lock.
    ///
    /// - Throws: `PenstockError` with code `storage` when another program has it, or one of the system's.
    package init(of path: String) throws(PenstockError) {
        self.path = path
        descriptor = try Self.locked(path)
    }

    /// Lets go of the lock, once. Its file goes while it is locked: a program that has opened it meanwhile finds that it has no name any
    /// more, and makes another.
    package func release() {
        unlink(Self.file(of: path))
        FileLock.release(descriptor)
        close(descriptor)
    }

    /// What is said where nobody sees a socket: a cleaner of old files, say, has removed it under its program.
    private static func unseen(_ path: String) -> PenstockError {
        PenstockError(
            .storage,
            "Another program is to listen at \(path), and its socket was removed or is not there yet; stop that program, which has "
                + "\(file(of: path)) open, or give another path.")
    }

    private static func locked(_ path: String) throws(PenstockError) -> Int32 {
        while true {
            let descriptor = SystemCall.uninterrupted {
                Foundation.open(file(of: path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            }
            guard descriptor >= 0 else { throw SystemErrors.failure("Nothing can listen at \(path)", errno) }
            let failure = FileLock.take(descriptor)
            var facts = stat()
            if failure == 0, fstat(descriptor, &facts) == 0, facts.st_nlink > 0 { return descriptor }
            close(descriptor)
            switch failure {
            case 0: continue
            case EWOULDBLOCK: throw access(path, F_OK) == 0 ? SocketFile.taken(path) : unseen(path)
            default: throw SystemErrors.failure("Nothing can listen at \(path)", failure)
            }
        }
    }
}
