import Foundation
import PenstockCore

/// Tells the other processes on this machine that something was committed.
///
/// A ring is a note on the board and a write to its file; who listens has the kernel watch that file. When nobody
/// listens in another process, a ring is one question to the kernel. A ring that is lost costs latency and never a
/// message: who listens also looks by itself.
final class Doorbell: Sendable {
    let board: DoorbellBoard
    private let descriptor: Int32

    init(_ folder: SideFolder) throws {
        descriptor = try folder.open(folder.doorbell)
        do {
            board = try DoorbellBoard(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    /// Rings at `places`. Called after COMMIT, when other processes can see what was written.
    func ring(_ places: [(Int, Ring)]) {
        if places.isEmpty || !othersListen { return }
        for (place, ring) in places { board.ring(at: place, ring) }
        var one: UInt8 = 1
        pwrite(descriptor, &one, 1, off_t(DoorbellBoard.clapper))
    }

    #if os(Linux)
        // Locks of an open file, not of a process: https://man7.org/linux/man-pages/man2/fcntl.2.html, "Open file
        // description locks". Each store has opened the file by itself, so its own lock is none of the others'.
        private static let askForLock: Int32 = 36
        private static let setLock: Int32 = 37

        /// Says that this store listens, until the doorbell is let go. It must be said before the first look, so that
        /// whoever commits after that look rings.
        func listen() {
            var lock = Self.lock(F_RDLCK)
            _ = fcntl(descriptor, Self.setLock, &lock)
        }

        /// Whether another store listens, in this process or in another. When the kernel does not say, it may be so.
        private var othersListen: Bool {
            var lock = Self.lock(F_WRLCK)
            return fcntl(descriptor, Self.askForLock, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
        }

        private static func lock(_ type: Int32) -> flock {
            flock(
                l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: off_t(DoorbellBoard.clapper), l_len: 1,
                l_pid: 0)
        }
    #else
        func listen() {}

        private var othersListen: Bool { true }
    #endif
}
