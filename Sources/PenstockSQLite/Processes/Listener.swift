import PenstockCore
import Synchronization

/// Listens to the doorbell from the first time that somebody waits: a process that only enqueues never does.
final class Listener: Sendable {
    private enum State {
        case idle
        case listening(DoorbellListener)
        case stopped
    }

    private let state = Mutex(State.idle)
    private let folder: SideFolder

    init(_ folder: SideFolder) {
        self.folder = folder
    }

    /// Begins to pass rings on to `wakeups`. When the kernel refuses to watch the file, waiters find changes by the
    /// looks they take themselves, a little later.
    func start(_ wakeups: Wakeups) {
        state.withLock { state in
            if case .idle = state, let listener = try? DoorbellListener(folder, wakeups: wakeups) {
                state = .listening(listener)
            }
        }
    }

    /// Stops for good.
    func stop() {
        state.withLock { state in
            if case .listening(let listener) = state { listener.stop() }
            state = .stopped
        }
    }
}
