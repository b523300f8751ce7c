internal import PenstockCore
internal import Synchronization

/// One run of a handler on a message: the first reason for its end is the one that counts.
final class HandlerRun: Sendable {
    private enum State {
        case running(CheckedContinuation<HandlerEnd, Never>?)
        case ended(HandlerEnd)
    }

    let lease: Lease
    private let onEnd: @Sendable (HandlerRun, HandlerEnd) -> Void
    private let state = Mutex(State.running(nil))

    /// Makes a run that has begun.
    ///
    /// - Parameter onEnd: is told how it ended.
    init(_ lease: Lease, onEnd: @escaping @Sendable (HandlerRun, HandlerEnd) -> Void = { _, _ in }) {
        self.lease = lease
        self.onEnd = onEnd
    }

    /// Ends the work, unless it has ended.
    func end(_ end: HandlerEnd) {
        let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<HandlerEnd, Never>?) in
            guard case .running(let waiter) = state else { return (false, nil) }
            state = .ended(end)
            return (true, waiter)
        }
        if isFirst { onEnd(self, end) }
        waiter?.resume(returning: end)
    }

    /// Returns once the work has ended. One task may wait. Cancelling it does nothing: the task that cancels a worker also
    /// ends its runs.
    func ended() async -> HandlerEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> HandlerEnd? in
                if case .ended(let end) = state { return end }
                state = .running(continuation)
                return nil
            }
            if let end { continuation.resume(returning: end) }
        }
    }
}

/// The runs that are under way.
final class HandlerRuns: Sendable {
    private struct State {
        var runs: [LeaseToken: HandlerRun] = [:]
        /// Whether every further run is given up at once.
        var isDismissed = false
    }

    private let state = Mutex(State())

    /// Takes up a run. After ``dismiss()`` it is given up at once.
    func add(_ run: HandlerRun) {
        let isDismissed = state.withLock { state in
            state.runs[run.lease.token] = run
            return state.isDismissed
        }
        if isDismissed { run.end(.givenUp) }
    }

    func remove(_ run: HandlerRun) {
        state.withLock { $0.runs[run.lease.token] = nil }
    }

    /// Whether ``dismiss()`` was called.
    var isDismissed: Bool { state.withLock { $0.isDismissed } }

    func run(of lease: Lease) -> HandlerRun? {
        state.withLock { $0.runs[lease.token] }
    }

    /// Gives up all runs, and every one that is still to come.
    func dismiss() {
        let runs = state.withLock { state in
            state.isDismissed = true
            return Array(state.runs.values)
        }
        for run in runs { run.end(.givenUp) }
    }
}
