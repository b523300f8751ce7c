import Dispatch
import Synchronization

/// Holds what it is to run until it is let go, and calls somebody as one of these jobs comes.
final class HoldingExecutor: TaskExecutor {
    private struct State {
        var count = 0
        /// `nil`: jobs run as they come.
        var held: [UnownedJob]? = []
    }

    /// A task that is on its way to its end when its test is over holds its executor unowned: they stay, all of them.
    private static let all = Mutex<[HoldingExecutor]>([])

    private let number: Int
    private let call: @Sendable () -> Void
    private let state = Mutex(State())

    /// Makes one that calls as the job of that number comes, on the thread that brings it.
    init(withJob number: Int, _ call: @escaping @Sendable () -> Void) {
        self.number = number
        self.call = call
        Self.all.withLock { $0.append(self) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isNow, count) = state.withLock { state in
            state.count += 1
            let isNow = state.held?.append(job) == nil
            return (isNow, state.count)
        }
        if count == number { call() }
        if isNow { run(job) }
    }

    /// Runs what it holds, and from now on what comes.
    func letGo() {
        for job in state.withLock({ $0.held.take() }) ?? [] { run(job) }
    }

    private func run(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
