import Foundation
import PenstockCore

/// A lock on an open file as a whole, which the kernel lets go of with the file.
enum FileLock {
    /// Locks an open file as the system does: 0, or -1 and why in `errno`. It waits for nobody.
    typealias Call = @Sendable (Int32) -> Int32

    /// The system's call for a lock that nobody shares.
    static let alone: Call = { flock($0, LOCK_EX | LOCK_NB) }
    /// The same for one that others may share.
    static let shared: Call = { flock($0, LOCK_SH | LOCK_NB) }

    /// The system's call that lets go of a lock.
    static let none: Call = { flock($0, LOCK_UN) }

    /// Why there are no locks on an open file that has none yet, an `errno`; 0: there may be. To let go of what it has not takes nothing from
    /// anybody, and a system that knows no locks says so.
    static func lack(_ descriptor: Int32, by letGo: Call) -> Int32 {
        guard letGo(descriptor) != 0 else { return 0 }
        let failure = errno
        return [ENOSYS, EOPNOTSUPP, EPERM].contains(failure) ? failure : 0
    }

    /// Takes the lock, if nobody else has it.
    ///
    /// - Parameter lock: another call in tests, in which the system gives no locks.
    /// - Returns: 0 when it was taken, `EWOULDBLOCK` when another open file has it; else why the system gives none, an `errno`.
    static func take(_ descriptor: Int32, by lock: Call = FileLock.alone) -> Int32 {
        SystemCall.uninterrupted { lock(descriptor) } == 0 ? 0 : errno
    }

    /// Lets go of the lock. To be said, and not only by closing: a child that was just forked has the descriptor until it runs its program.
    static func release(_ descriptor: Int32) { _ = none(descriptor) }
}
