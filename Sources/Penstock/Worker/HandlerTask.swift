internal import Synchronization

/// The task of one handler, which can be cancelled before it begins.
final class HandlerTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func begin(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let task = Task(operation: body)
            state.task = task
            if state.isCancelled { task.cancel() }
        }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
