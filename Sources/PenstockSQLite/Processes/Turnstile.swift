import Foundation
import PenstockCore
import Synchronization

/// Puts the writers of several processes in line: who wants to write takes this lock first, and only then SQLite's.
///
/// SQLite's own wait is a loop of sleeps, in which whoever wakes at the right moment wins and others can lose for
/// seconds. A blocked `flock` is woken by the kernel as soon as the holder is through. Programs that do not know the
/// turnstile, such as the sqlite3 shell, meet at SQLite's lock as before.
///
/// A blocked `flock` knows no end, and a holder may be stopped for hours, in a debugger or by Ctrl-Z. So it is a thread
/// of its own that blocks, and only when the lock is taken; who waits for the thread can give up.
///
/// One thread at a time may pass.
final class Turnstile: Sendable {
    private let lock: TurnstileLock

    init(_ folder: SideFolder) throws {
        lock = TurnstileLock(try folder.open(folder.turnstile))
    }

    deinit {
        lock.stop()
    }

    /// Waits for its turn, runs `body`, and lets the next one through.
    ///
    /// - Throws: `busy` when the turn has not come within `limit`, and what `body` throws.
    func pass<T>(within limit: Duration, _ body: () throws -> T) throws -> T {
        guard lock.take(within: limit) else {
            throw PenstockError(
                .busy, "Another process has written to this store for longer than \(limit); is it stopped? End it.")
        }
        defer { lock.letGo() }
        return try body()
    }
}

/// The lock, and the thread that waits for it.
private final class TurnstileLock: Sendable {
    private enum Phase {
        /// The thread sleeps, or was never needed.
        case idle
        /// The thread waits for the lock, and somebody for the thread.
        case awaited
        /// The thread waits for the lock, and nobody for the thread.
        case abandoned
        /// The thread has the lock, for the one who waits.
        case granted
    }

    private struct State {
        var phase = Phase.idle
        var hasThread = false
        var isStopping = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let asked = DispatchSemaphore(value: 0)
    private let answered = DispatchSemaphore(value: 0)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    // The thread holds the object, so this comes after its end.
    deinit {
        close(descriptor)
    }

    /// Whether the lock was got within `limit`.
    func take(within limit: Duration) -> Bool {
        let (isIdle, mustStart) = state.withLock { state -> (Bool, Bool) in
            if state.phase == .idle, flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return (true, false) }
            defer {
                state.phase = .awaited
                state.hasThread = true
            }
            if state.phase == .idle { asked.signal() }
            return (false, !state.hasThread)
        }
        if isIdle { return true }
        if mustStart { start() }
        let seconds = limit / .seconds(1)
        let isInTime = answered.wait(timeout: .now() + seconds) == .success
        let isGranted = state.withLock { state in
            defer { state.phase = state.phase == .granted ? .idle : .abandoned }
            return state.phase == .granted
        }
        // The answer came between the end of the wait and the look: it must not stay for the next one.
        if isGranted, !isInTime { answered.wait() }
        return isGranted
    }

    func letGo() {
        _ = flock(descriptor, LOCK_UN)
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        asked.signal()
    }

    private func start() {
        let thread = Thread { [self] in
            while true {
                asked.wait()
                if state.withLock({ $0.isStopping && $0.phase == .idle }) { return }
                while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
                state.withLock { state in
                    if state.phase == .awaited {
                        state.phase = .granted
                        answered.signal()
                    } else {
                        letGo()
                        state.phase = .idle
                    }
                }
            }
        }
        thread.name = "penstock turnstile"
        thread.stackSize = 256 * 1024
        thread.start()
    }
}
