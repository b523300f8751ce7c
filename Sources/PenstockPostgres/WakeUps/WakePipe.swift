import Foundation
import PenstockCore
import Synchronization

/// Wakes a thread that waits on a socket.
final class WakePipe: Sendable {
    private let reading: Int32
    private let writing: Int32
    private let isWoken = Mutex(false)

    /// - Throws: `storage` when the process has no descriptors left.
    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw PenstockError(.storage, "No pipe can be made; raise the limit on open files (`ulimit -n`).")
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(reading)
        close(writing)
    }

    func wake() {
        let isFirst = isWoken.withLock { isWoken in
            defer { isWoken = true }
            return !isWoken
        }
        var byte: UInt8 = 1
        if isFirst { _ = write(writing, &byte, 1) }
    }

    /// Returns when it is woken, when there is something to read from `socket`, or after `duration`.
    ///
    /// - Parameter socket: `-1`: there is none.
    /// - Returns: whether there may be something to read from `socket`.
    @discardableResult
    func wait(or socket: Int32 = -1, for duration: Duration) -> Bool {
        var watched = [
            pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&watched, 2, Int32(max(0, duration.wholeMicroseconds + 999) / 1000))
        if watched[0].revents != 0 {
            // In this order: a wake before the byte is gone is seen by the caller, who looks now, and one after that puts another byte.
            var byte: UInt8 = 0
            _ = read(reading, &byte, 1)
            isWoken.withLock { $0 = false }
        }
        return watched[1].revents != 0
    }
}
