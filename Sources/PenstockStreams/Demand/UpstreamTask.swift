public import Synchronization

/// The task that reads upstream. It is made outside of the lock behind which others find it, as its executor may run it at once, on the
/// thread that makes it; so it may be cancelled before it is there.
@usableFromInline
package final class UpstreamTask: Sendable {
    @usableFromInline
    struct State: Sendable {
        @usableFromInline var task: Task<Void, Never>?
        @usableFromInline var isCancelled: Bool

        @inlinable init() {
            task = nil
            isCancelled = false
        }
    }

    @usableFromInline let state = Mutex(State())

    /// Makes one that has not begun.
    @inlinable package init() {}

    /// Begins it, once: where a child task of the running one would run.
    @inlinable package func begin(_ body: @escaping @Sendable () async -> Void) {
        let task = Task(executorPreference: preferredExecutor(), operation: body)
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels it, also if it is only about to begin.
    @inlinable package func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Cancels it, and returns when it has ended.
    @inlinable package func end() async {
        cancel()
        await state.withLock { $0.task }?.value
    }
}
