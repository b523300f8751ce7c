import PenstockCore
import Synchronization

/// Watches what other processes do from the first time that somebody waits: a process that only enqueues never does.
final class Listener: Sendable {
    private enum State {
        case idle
        case watching(WatchThread)
        case stopped
    }

    private let state = Mutex(State.idle)
    private let isSure = Flag()
    private let path: String
    private let folder: SideFolder
    private let doorbell: Doorbell
    private let time: any TimeSource

    init(path: String, folder: SideFolder, doorbell: Doorbell, time: any TimeSource) {
        self.path = path
        self.folder = folder
        self.doorbell = doorbell
        self.time = time
    }

    /// Whether nothing happens that waiters would not be rung for. It is not so before the first look, nor when the
    /// kernel refuses to watch: waiters then have to look by themselves.
    var hearsEverything: Bool { isSure.isRaised }

    /// Begins to pass on to `wakeups` what happens.
    func start(_ wakeups: Wakeups) {
        state.withLock { state in
            guard case .idle = state else { return }
            let thread = try? WatchThread(folder, doorbell: doorbell, log: path + "-wal") { [self] hearsWrites in
                Watch(
                    doorbell: doorbell, wakeups: wakeups,
                    lookout: Lookout(path: path, folder: folder, time: time), isSure: isSure, hearsWrites: hearsWrites)
            }
            if let thread { state = .watching(thread) }
        }
    }

    /// Stops for good, soon.
    func stop() {
        _ = stopped()
    }

    /// Stops for good, and returns when the file was let go.
    func end() async {
        await stopped()?.ended()
    }

    private func stopped() -> WatchThread? {
        state.withLock { state in
            defer { state = .stopped }
            guard case .watching(let thread) = state else { return nil }
            thread.stop()
            return thread
        }
    }
}
