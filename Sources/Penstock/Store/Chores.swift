internal import Synchronization

/// Tasks that belong to the store, since whoever began them does not wait for them. Closing the store does.
final class Chores: Sendable {
    private struct Chore {
        var task: Task<Void, Never>
        var isDispensable: Bool
    }

    private struct State {
        var running: [Int: Chore] = [:]
        var namesGiven = 0
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
            state.namesGiven += 1
            let name = state.namesGiven
            let task = Task(executorPreference: executor) {
                await body()
                _ = self.state.withLock { $0.running.removeValue(forKey: name) }
            }
            state.running[name] = Chore(task: task, isDispensable: isDispensable)
        }
    }

    /// Returns when everything that was begun is done, what these began included.
    func finish() async {
        while case let running = state.withLock({ Array($0.running.values) }), !running.isEmpty {
            for chore in running where chore.isDispensable { chore.task.cancel() }
            for chore in running { await chore.task.value }
        }
    }
}
