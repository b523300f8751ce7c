internal import PenstockCore
internal import Synchronization

/// One run of a handler on a message, or of a stream's work on it: the first reason for its end is the one that counts.
package final class HandlerRun: Sendable {
    private struct State {
        var end: HandlerEnd?
        var waiter: CheckedContinuation<HandlerEnd, Never>?
        /// Runs the handler, where it can be cancelled alone.
        var task: Task<Void, Never>?
        /// Whether it is asked to end, as its message is to be cancelled.
        var isAsked = false
    }

    let lease: Lease
    /// Whether the work is a task that is cancelled when it is asked to end, and then leaves by itself.
    private let leavesByItself: Bool
    private let onEnd: @Sendable (HandlerEnd) -> Void
    private let state = Mutex(State())

    /// Makes a run that has begun.
    ///
    /// - Parameters:
    ///   - leavesByItself: whether ``begin(_:)`` is called for it. Work that is not a task of its own is given up when it is
    ///     asked to end.
    ///   - onEnd: is told when the work is given up, out of time, or its lease is lost.
    init(_ lease: Lease, leavesByItself: Bool, onEnd: @escaping @Sendable (HandlerEnd) -> Void = { _ in }) {
        self.lease = lease
        self.leavesByItself = leavesByItself
        self.onEnd = onEnd
    }

    /// Calls `body` in a task of its own, which is cancelled when the run is ended, also if that was before.
    func begin(_ body: @escaping @Sendable () async -> Void) {
        // Not under the lock: the task begins at once on another thread, and would wait for it.
        let task = Task(operation: body)
        let isOver = state.withLock { state in
            state.task = task
            return state.end != nil || state.isAsked
        }
        if isOver { task.cancel() }
    }

    /// Asks the work to end, as its message is to be cancelled. What it says then counts.
    func ask() {
        guard leavesByItself else { return end(.cancelled) }
        let task = state.withLock { state in
            state.isAsked = true
            return state.end == nil ? state.task : nil
        }
        task?.cancel()
    }

    /// The work has left by itself.
    ///
    /// - Returns: the end that counts.
    @discardableResult
    func left(_ end: HandlerEnd) -> HandlerEnd {
        var end = end
        // That it was cancelled is no failure of its own.
        if case .failed(is CancellationError) = end, state.withLock({ $0.isAsked }) { end = .cancelled }
        return note(end) ?? end
    }

    /// Whether work that was cancelled has done as it was asked to: it is given up, or its message is to be cancelled or another's. Work
    /// that ran too long was cancelled as well, and has failed.
    var wasAskedToEnd: Bool {
        state.withLock { state in
            switch state.end {
            case nil: state.isAsked
            case .givenUp, .cancelled, .leaseLost: true
            default: false
            }
        }
    }

    /// Whether nothing is to begin for it any more: it has ended, which may have given its message back, or is asked to end. A task is
    /// cancelled only after that, so asking the task would come too early.
    package var isOver: Bool { state.withLock { $0.end != nil || $0.isAsked } }

    /// Ends the work, unless it has ended.
    package func end(_ end: HandlerEnd) {
        guard note(end) == nil else { return }
        onEnd(end)
        state.withLock { $0.task }?.cancel()
    }

    /// - Returns: the end that counts instead, if there is one.
    private func note(_ end: HandlerEnd) -> HandlerEnd? {
        let (earlier, waiter) = state.withLock { state -> (HandlerEnd?, CheckedContinuation<HandlerEnd, Never>?) in
            if let earlier = state.end { return (earlier, nil) }
            state.end = end
            return (nil, state.waiter.take())
        }
        waiter?.resume(returning: end)
        return earlier
    }

    /// Returns once the work has ended. One task may wait. Cancelling it does nothing: the task that cancels a worker also
    /// ends its runs.
    func ended() async -> HandlerEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> HandlerEnd? in
                if state.end == nil { state.waiter = continuation }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }
}
