import Foundation
import PenstockCore

/// A lock on one byte of an open file, which the kernel lets go of with the file: a process holds it as long as it lives.
///
/// Locks of an open file, not of a process: https://man7.org/linux/man-pages/man2/fcntl.2.html, "Open file description
/// locks". Each store has opened the file by itself, so its own lock is none of the others'. Other systems have none.
package struct ByteLock {
    package let descriptor: Int32
    package let offset: Int

    package init(descriptor: Int32, offset: Int) {
        self.descriptor = descriptor
        self.offset = offset
    }

    #if os(Linux)
        /// Whether the system has such locks.
        package static let isKnown = true

        private static let askForLock: Int32 = 36
        private static let setLock: Int32 = 37

        /// Takes the lock together with others that share it.
        package func share() {
            var lock = lock(F_RDLCK)
            SystemCall.uninterrupted { fcntl(descriptor, Self.setLock, &lock) }
        }

        /// Takes the lock, if nobody else has it.
        package func take() -> Bool {
            var lock = lock(F_WRLCK)
            return SystemCall.uninterrupted { fcntl(descriptor, Self.setLock, &lock) } == 0
        }

        /// Lets go of the lock.
        package func release() {
            var lock = lock(F_UNLCK)
            _ = fcntl(descriptor, Self.setLock, &lock)
        }

        /// Whether another open file has it. When the kernel does not say, it may be so.
        package var isHeldByOthers: Bool {
            var lock = lock(F_WRLCK)
            return fcntl(descriptor, Self.askForLock, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
        }

        private func lock(_ type: Int32) -> flock {
            flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: off_t(offset), l_len: 1, l_pid: 0)
        }
    #else
        package static let isKnown = false

        package func share() {}

        package func take() -> Bool { false }

        package func release() {}

        package var isHeldByOthers: Bool { true }
    #endif
}
