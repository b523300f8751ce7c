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

    /// A task that is still suspended when its test is over holds its executor unowned: they stay, all of them.
    private static let all = Mutex<[IdleExecutor]>([])

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Makes an executor that runs one job at a time, or as many as there are threads.
    package init(isSerial: Bool) {
        // Not of the threads that Swift's own tasks run on: where these wait for the store, Dispatch would add one a second.
        queue = DispatchQueue(label: "idle executor", qos: .userInitiated, attributes: isSerial ? [] : .concurrent)
        Self.all.withLock { $0.append(self) }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobCount += 1 }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.wake { $0.jobCount -= 1 }
        }
    }

    /// The one that the current task prefers; `nil`: it prefers another, or none.
    package static var current: IdleExecutor? {
        withUnsafeCurrentTask { task in
            guard let executor = task?.unownedTaskExecutor else { return nil }
            return all.withLock { $0.first { $0.asUnownedTaskExecutor() == executor } }
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
    ///
    /// - Parameter isCut: ends the way early when it returns `true`, with the clock where it stands.
    package func run<Hands: MovedByHand>(
        _ clock: Hands, to moment: Hands.Moment? = nil, unless isCut: () -> Bool = { false }
    ) async {
        await waitUntilIdle()
        while !isCut(), let deadline = clock.nextDeadline, moment.map({ deadline <= $0 }) ?? true {
            clock.advanceToNextDeadline()
            await waitUntilIdle()
        }
        guard let moment, !isCut() else { return }
        clock.advance(to: moment)
        await waitUntilIdle()
    }
}

/// A clock that an executor can move to the moments at which something happens.
package protocol MovedByHand: Sendable {
    associatedtype Moment: Comparable & Sendable
    var nextDeadline: Moment? { get }
    @discardableResult func advanceToNextDeadline() -> Bool
    func advance(to moment: Moment)
}

extension ManualClock: MovedByHand {}
extension ManualTime: MovedByHand {}
