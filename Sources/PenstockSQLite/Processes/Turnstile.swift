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
/// Handing the turn from one process to the next takes longer than a small transaction. So who had to wait for it may
/// keep it for a few transactions, ``keepMax`` long; who found nobody before the turnstile lets go of it at once.
///
/// One thread at a time may pass.
final class Turnstile: Sendable {
    /// How long a turn may be kept. With a dozen processes in line, each has its turn within some 20 ms.
    private static let keepMax = Duration.microseconds(1500)
    /// How long whoever keeps the turn waits for more to do. A caller that was just answered takes less to call again.
    static let lingerMicroseconds = 60
    /// After a turn, the next one in line needs a moment to wake up. Who has more to do lets it go first.
    private static let stepBackMicroseconds: UInt32 = 50

    private let lock: TurnstileLock
    /// Since when the turn is kept, which was waited for; `nil`: nothing is kept.
    private let keptSince = Mutex<ContinuousClock.Instant?>(nil)

    init(_ folder: SideFolder) throws {
        lock = TurnstileLock(try folder.open(folder.turnstile))
    }

    deinit {
        lock.stop()
    }

    /// Waits for its turn, unless it is kept, and runs `body`.
    ///
    /// - Throws: `busy` when the turn has not come within `limit`, and what `body` throws.
    func pass<T>(within limit: Duration, _ body: () throws -> T) throws -> T {
        if !isKept {
            switch lock.take(within: limit) {
            case .atOnce: break
            case .afterWaiting: keptSince.withLock { $0 = .now }
            case .notAtAll:
                throw PenstockError(
                    .busy,
                    "Another process has written to this store for longer than \(limit); is it stopped? End it.")
            }
        }
        defer {
            if let since = keptSince.withLock({ $0 }) {
                if ContinuousClock.now - since >= Self.keepMax {
                    letGo()
                    usleep(Self.stepBackMicroseconds)
                }
            } else {
                lock.letGo()
            }
        }
        return try body()
    }

    /// Whether the turn is kept.
    private var isKept: Bool { keptSince.withLock { $0 != nil } }

    /// Whether the turn is kept and may be kept on. If so, whoever has nothing to do soon must let go of it.
    func mayLinger() -> Bool {
        guard let since = keptSince.withLock({ $0 }) else { return false }
        if ContinuousClock.now - since < Self.keepMax { return true }
        letGo()
        return false
    }

    /// Lets the next one through, if the turn was kept.
    func letGo() {
        let wasKept = keptSince.withLock { since in
            defer { since = nil }
            return since != nil
        }
        if wasKept { lock.letGo() }
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

    /// How the lock was got, if it was within `limit`.
    enum Taking {
        case atOnce, afterWaiting, notAtAll
    }

    /// Waits for the lock, but not longer than `limit`.
    func take(within limit: Duration) -> Taking {
        let (isIdle, mustStart) = state.withLock { state -> (Bool, Bool) in
            if state.phase == .idle, flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return (true, false) }
            defer {
                state.phase = .awaited
                state.hasThread = true
            }
            if state.phase == .idle { asked.signal() }
            return (false, !state.hasThread)
        }
        if isIdle { return .atOnce }
        if mustStart { start() }
        let seconds = limit / .seconds(1)
        let isInTime = answered.wait(timeout: .now() + seconds) == .success
        let isGranted = state.withLock { state in
            defer { state.phase = state.phase == .granted ? .idle : .abandoned }
            return state.phase == .granted
        }
        // The answer came between the end of the wait and the look: it must not stay for the next one.
        if isGranted, !isInTime { answered.wait() }
        return isGranted ? .afterWaiting : .notAtAll
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
