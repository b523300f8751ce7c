package import PenstockCore
import Synchronization

/// Watches what other processes do, from the first time that a task of this one waits. A process that only enqueues never
/// does.
package final class ChangeListener: Sendable {
    private enum State {
        case idle
        case watching(ChangeWatcherThread)
        case stopped
    }

    private let state = Mutex(State.idle)
    private let isSure = Flag()
    private let database: String
    private let folder: SharedFolder
    private let doorbell: Doorbell
    private let makePoller: @Sendable () -> sending any ChangePolling

    /// - Parameters:
    ///   - database: the database's file. The kernel tells when it loses its name, and when its write-ahead log is written to.
    ///   - makePoller: makes the poller of the thread that watches.
    package init(
        database: String, folder: SharedFolder, doorbell: Doorbell,
        makePoller: @escaping @Sendable () -> sending any ChangePolling
    ) {
        self.database = database
        self.folder = folder
        self.doorbell = doorbell
        self.makePoller = makePoller
    }

    /// Whether nothing happens that waiters would not be rung for. It is not so before the first look, nor when the
    /// kernel refuses to watch: waiters then have to look by themselves.
    package var hearsEverything: Bool { isSure.isRaised }

    /// Begins to pass on to `wakeups` what happens.
    package func start(_ wakeups: Wakeups) {
        state.withLock { state in
            guard case .idle = state else { return }
            let thread = try? ChangeWatcherThread(folder, doorbell: doorbell, database: database) {
                [self] hearsWrites in
                ChangeWatcher(
                    doorbell: doorbell, wakeups: wakeups, poller: makePoller(), isSure: isSure, hearsWrites: hearsWrites
                )
            }
            if let thread { state = .watching(thread) }
        }
    }

    /// Stops for good, soon.
    package func stop() {
        _ = stopped()
    }

    /// Stops for good, and returns when the file was let go.
    package func end() async {
        await stopped()?.ended()
    }

    private func stopped() -> ChangeWatcherThread? {
        state.withLock { state in
            defer { state = .stopped }
            guard case .watching(let thread) = state else { return nil }
            thread.stop()
            return thread
        }
    }
}
