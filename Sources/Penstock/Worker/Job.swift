internal import PenstockCore
internal import Synchronization

/// One message in a handler's hands: the first reason to end it is the one that counts.
final class Job: Sendable {
    private enum State {
        case running(CheckedContinuation<WorkEnd, Never>?)
        case ended(WorkEnd)
    }

    let lease: Lease
    private let onEnd: @Sendable (Job, WorkEnd) -> Void
    private let state = Mutex(State.running(nil))

    /// Makes a job that runs.
    ///
    /// - Parameter onEnd: is told how it ended.
    init(_ lease: Lease, onEnd: @escaping @Sendable (Job, WorkEnd) -> Void = { _, _ in }) {
        self.lease = lease
        self.onEnd = onEnd
    }

    /// Ends the work, unless it has ended.
    func end(_ end: WorkEnd) {
        let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<WorkEnd, Never>?) in
            guard case .running(let waiter) = state else { return (false, nil) }
            state = .ended(end)
            return (true, waiter)
        }
        if isFirst { onEnd(self, end) }
        waiter?.resume(returning: end)
    }

    /// Returns once the work has ended. One task may wait. Cancelling it does nothing: whoever cancels a worker also
    /// ends its jobs.
    func ended() async -> WorkEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> WorkEnd? in
                if case .ended(let end) = state { return end }
                state = .running(continuation)
                return nil
            }
            if let end { continuation.resume(returning: end) }
        }
    }
}

/// The jobs that run now.
final class Crew: Sendable {
    private struct State {
        var jobs: [LeaseToken: Job] = [:]
        /// Set when the crew is to take up nothing more: what every further job ends with.
        var isDismissed = false
    }

    private let state = Mutex(State())

    /// Takes up a job; when the crew is dismissed, the job is given up at once.
    func add(_ job: Job) {
        let isDismissed = state.withLock { state in
            state.jobs[job.lease.token] = job
            return state.isDismissed
        }
        if isDismissed { job.end(.givenUp) }
    }

    func remove(_ job: Job) {
        state.withLock { $0.jobs[job.lease.token] = nil }
    }

    /// Whether ``dismiss()`` was called.
    var isDismissed: Bool { state.withLock { $0.isDismissed } }

    func job(of lease: Lease) -> Job? {
        state.withLock { $0.jobs[lease.token] }
    }

    /// Gives up all jobs, and every one that is still to come.
    func dismiss() {
        let jobs = state.withLock { state in
            state.isDismissed = true
            return Array(state.jobs.values)
        }
        for job in jobs { job.end(.givenUp) }
    }
}
