import Foundation

/// A lock on an open file as a whole, which the kernel lets go of with the file.
enum FileLock {
    /// Takes the lock, if nobody else has it.
    ///
    /// - Parameter lock: ``tryLock(_:)``, but for tests in which the system gives no locks.
    /// - Returns: 0 when it was taken, `EWOULDBLOCK` when another open file has it; else why the system gives none, an `errno`.
    static func take(_ descriptor: Int32, by lock: (Int32) -> Int32) -> Int32 {
        while lock(descriptor) != 0 {
            let failure = errno
            if failure != EINTR { return failure }
        }
        return 0
    }

    /// The system's call.
    static func tryLock(_ descriptor: Int32) -> Int32 { flock(descriptor, LOCK_EX | LOCK_NB) }
}
