import Dispatch
import Synchronization

/// This process's end of the pipe that is the standard input of a command that stays.
///
/// A message that fits into the pipe, as most do, costs one call of the system, and blocks nothing.
final class ChildInput: Sendable {
    /// The command's end, which is given to it.
    let childEnd: FileDescriptor

    private struct State {
        var isOpen = true
        /// Whether nothing more is to be written.
        var isGivenUp = false
        /// How much of the last message has gone into the pipe.
        var writtenCount = 0
    }

    private let state = Mutex(State())
    private let number: Int32
    /// Waits for room in the pipe, and closes it: nobody waits for a number that is another's by then.
    private let queue = DispatchQueue(label: "penstock.child-input")

    /// Makes the pipe. The caller must ``close()`` it, and the command's end is not closed with it.
    ///
    /// - Throws: ``Shortage``, or the system's error.
    init() throws {
        do {
            // Processes that are started meanwhile do not inherit it: the library closes everything in them.
            let (readEnd, writeEnd) = try FileDescriptor.pipe()
            (childEnd, number) = (readEnd, writeEnd.rawValue)
        } catch {
            throw Shortage(error) ?? error
        }
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    /// Writes all of `bytes`. One task at a time may.
    ///
    /// - Returns: whether all of it is in the pipe; `false` when nobody is there any more to read it, or it was given up.
    func write(_ bytes: [UInt8]) async -> Bool {
        state.withLock { $0.writtenCount = 0 }
        guard let left = writeNow(bytes[...]) else { return false }
        if left.isEmpty { return true }
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.writeAsItIsRead(left)) }
        }
    }

    private func writeAsItIsRead(_ bytes: ArraySlice<UInt8>) -> Bool {
        var left = bytes
        while !left.isEmpty {
            var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
            _ = poll(&request, 1, Self.lookMilliseconds)
            guard let more = writeNow(left) else { return false }
            left = more
        }
        return true
    }

    /// How long a close may go unseen where a write waits for room.
    private static let lookMilliseconds: Int32 = 100

    /// Writes what there is room for; under the lock, as the pipe may be closed otherwise.
    ///
    /// - Returns: what found no room; `nil` when nobody reads any more, or the pipe is closed.
    private func writeNow(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        state.withLock { state in
            guard state.isOpen, !state.isGivenUp else { return nil }
            var left = bytes
            while !left.isEmpty {
                let count = left.withUnsafeBytes { systemWrite(number, $0) }
                if count > 0 {
                    left = left.dropFirst(count)
                    state.writtenCount += count
                } else if errno == EAGAIN {
                    return left
                } else if errno != EINTR {
                    return nil
                }
            }
            return left
        }
    }

    /// Whether nothing of the last message was read: all that went into the pipe is still there. On systems that do not say what
    /// is in a pipe, whether nothing went into it.
    ///
    /// For when the command has ended, and before the pipe is closed.
    var isUnread: Bool {
        state.withLock { state in
            guard state.isOpen, let count = Self.unreadCount(number) else { return state.writtenCount == 0 }
            return count >= state.writtenCount
        }
    }

    /// How many bytes lie in the pipe whose end `number` is, for writing; `nil` where the system does not say.
    private static func unreadCount(_ number: Int32) -> Int? {
        #if canImport(Darwin)
            // It says 0 of this end, whatever lies there, and what lies there goes with the last one that could have read it.
            return nil
        #else
            var count: Int32 = 0
            return ioctl(number, UInt(FIONREAD), &count) == 0 ? Int(count) : nil
        #endif
    }

    /// Ends a write where it is. The command reads what was written, and waits for the rest.
    func giveUp() { state.withLock { $0.isGivenUp = true } }

    /// The command reads what was written, and then the end.
    func close() {
        let wasOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if wasOpen { queue.async { [number] in _ = systemClose(number) } }
    }
}
