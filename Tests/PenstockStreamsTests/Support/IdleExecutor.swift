import Dispatch
import PenstockTestKit
import Synchronization

/// Runs tasks, and tells when none of them can go on by itself: the signal that it is time to move the clock.
///
/// The operators run their tasks where their consumer does, so a stream whose consumer prefers this executor is still
/// exactly when it is idle.
final class IdleExecutor: TaskExecutor {
    private struct State {
        var jobCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Makes an executor that runs one job at a time, or as many as there are threads.
    init(isSerial: Bool) {
        queue = DispatchQueue(label: "idle executor", attributes: isSerial ? [] : .concurrent)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobCount += 1 }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            let waiters = self.state.withLock { state in
                state.jobCount -= 1
                guard state.jobCount == 0 else { return [CheckedContinuation<Void, Never>]() }
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Returns once no task is running or about to.
    func waitUntilIdle() async {
        await withCheckedContinuation { waiter in
            let isIdle = state.withLock { state in
                if state.jobCount > 0 { state.waiters.append(waiter) }
                return state.jobCount == 0
            }
            if isIdle { waiter.resume() }
        }
    }

    /// Moves the clock from deadline to deadline, each time when nothing can go on before: to the moment, or until
    /// nobody sleeps any more.
    func run(_ clock: ManualClock, to moment: ManualClock.Instant? = nil) async {
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
