import Dispatch
import Synchronization

/// Runs tasks, and tells when none of them can go on by itself: the signal that it is time to move the clock.
///
/// The operators run their tasks where their consumer does, so a stream whose consumer prefers this executor is still
/// exactly when it is idle.
package final class IdleExecutor: TaskExecutor {
    private struct State {
        var jobCount = 0
        var errandCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Makes an executor that runs one job at a time, or as many as there are threads.
    package init(isSerial: Bool) {
        queue = DispatchQueue(label: "idle executor", attributes: isSerial ? [] : .concurrent)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobCount += 1 }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.wake { $0.jobCount -= 1 }
        }
    }

    /// Returns once no task is running or about to.
    package func waitUntilIdle() async {
        await withCheckedContinuation { waiter in
            let isIdle = state.withLock { state in
                if state.jobCount + state.errandCount > 0 { state.waiters.append(waiter) }
                return state.jobCount + state.errandCount == 0
            }
            if isIdle { waiter.resume() }
        }
    }

    /// A task goes on elsewhere for a while, and counts as running. It says so on this executor, and comes back to it.
    package func leave() {
        state.withLock { $0.errandCount += 1 }
    }

    /// The task is back.
    package func comeBack() {
        wake { $0.errandCount -= 1 }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            guard state.jobCount + state.errandCount == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Moves the clock from deadline to deadline, each time when nothing can go on before: to the moment, or until
    /// nobody sleeps any more.
    package func run(_ clock: ManualClock, to moment: ManualClock.Instant? = nil) async {
        await waitUntilIdle()
        while let deadline = clock.nextDeadline, moment.map({ deadline <= $0 }) ?? true {
            clock.advanceToNextDeadline()
            await waitUntilIdle()
        }
        guard let moment else { return }
        clock.advance(to: moment)
        await waitUntilIdle()
    }
}
