internal import PenstockCore
internal import Synchronization

/// Tasks that belong to the store, since nobody waits for them where they begin. Closing the store does.
final class BackgroundTasks: Sendable {
    private struct Running {
        var task: Task<Void, Never>
        var isDispensable: Bool
    }

    private struct State {
        var running: [Int: Running] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// Begins a task.
    ///
    /// - Parameters:
    ///   - isDispensable: whether closing the store cancels it.
    ///   - executor: where it runs, for what somebody waits for on Swift's own threads; `nil`: on those.
    func begin(
        isDispensable: Bool = false, on executor: (any TaskExecutor)? = nil,
        _ body: @escaping @Sendable () async -> Void
    ) {
        // Inside the lock, so that the task finds itself in the list when it ends.
        state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            let task = Task(executorPreference: executor) {
                await body()
                _ = self.state.withLock { $0.running.removeValue(forKey: id) }
            }
            state.running[id] = Running(task: task, isDispensable: isDispensable)
        }
    }

    /// Returns when everything that was begun is done, what these began included.
    func finish() async {
        while case let running = state.withLock({ Array($0.running.values) }), !running.isEmpty {
            for one in running where one.isDispensable { one.task.cancel() }
            for one in running { await one.task.value }
        }
    }
}
