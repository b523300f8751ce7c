import Foundation

/// A lock on one byte of an open file, which the kernel lets go of with the file: a process holds it as long as it lives.
///
/// Locks of an open file, not of a process: https://man7.org/linux/man-pages/man2/fcntl.2.html, "Open file description
/// locks". Each store has opened the file by itself, so its own lock is none of the others'. Other systems have none.
struct ByteLock {
    let descriptor: Int32
    let offset: Int

    #if os(Linux)
        private static let askForLock: Int32 = 36
        private static let setLock: Int32 = 37

        /// Takes the lock together with others that share it.
        func share() {
            var lock = lock(F_RDLCK)
            _ = fcntl(descriptor, Self.setLock, &lock)
        }

        /// Takes the lock, if nobody else has it.
        func take() -> Bool {
            var lock = lock(F_WRLCK)
            return fcntl(descriptor, Self.setLock, &lock) == 0
        }

        /// Lets go of the lock.
        func release() {
            var lock = lock(F_UNLCK)
            _ = fcntl(descriptor, Self.setLock, &lock)
        }

        /// Whether another open file has it. When the kernel does not say, it may be so.
        var isHeldByOthers: Bool {
            var lock = lock(F_WRLCK)
            return fcntl(descriptor, Self.askForLock, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
        }

        private func lock(_ type: Int32) -> flock {
            flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: off_t(offset), l_len: 1, l_pid: 0)
        }
    #else
        func share() {}

        func take() -> Bool { false }

        func release() {}

        var isHeldByOthers: Bool { true }
    #endif
}
