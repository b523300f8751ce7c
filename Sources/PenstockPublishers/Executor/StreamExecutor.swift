internal import DequeModule
internal import Dispatch
internal import PenstockProcesses
internal import Synchronization

/// Runs what streams do in the store.
///
/// It has threads of its own: where a source must be made to wait for the store, it waits on whatever thread it sends
/// from, and the store's answer must not need that one, be it Swift's or Dispatch's. There is a thread for each job that
/// would wait otherwise, up to a bound; threads that wait for a stream do not count.
final class StreamExecutor: TaskExecutor {
    /// The one of this process; a test has its own, which says when nothing can go on by itself.
    @TaskLocal static var current: any TaskExecutor = shared

    /// Which engine's task this is, or was begun in, as those are that settle for it. What one of these asks of upstream
    /// may not be answered on its own thread, as the answer may have to wait for the engine.
    @TaskLocal static var engine: ObjectIdentifier?

    private static let shared = StreamExecutor()

    private struct State {
        var line: Deque<UnownedJob> = []
        var threads = 0
        /// Threads without a job that nobody has called yet.
        var idle = 0
        /// Threads, also of others, that wait for a stream.
        var waiting = 0
    }

    /// How many jobs may run at a time.
    private static let runningMax = 64
    private static let idleTime = DispatchTimeInterval.seconds(10)

    private let state = Mutex(State())
    private let call = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        provide { $0.line.append(job) }
    }

    /// How many threads wait for a stream in this process.
    static var waitingCount: Int { shared.state.withLock { $0.waiting } }

    /// Waits on this thread for what a stream does.
    static func wait(_ body: () -> Void) {
        shared.provide { $0.waiting += 1 }
        body()
        shared.state.withLock { $0.waiting -= 1 }
    }

    /// Makes a change, after which there may have to be another thread.
    private func provide(_ change: (inout State) -> Void) {
        let (mustCall, mustStart) = state.withLock { state in
            change(&state)
            if state.line.isEmpty { return (false, false) }
            if state.idle > 0 {
                state.idle -= 1
                return (true, false)
            }
            if state.threads - state.waiting >= Self.runningMax { return (false, false) }
            state.threads += 1
            return (false, true)
        }
        if mustCall { call.signal() }
        if mustStart { startThread() }
    }

    private func startThread() {
        do {
            try SystemThread.start("penstock stream") { self.work() }
        } catch {
            // The system makes no more: those that there are take what there is, and Dispatch if there are none.
            let mustBorrow = state.withLock { state in
                state.threads -= 1
                return state.threads == 0
            }
            if mustBorrow {
                state.withLock { $0.threads += 1 }
                DispatchQueue.global().async { self.work() }
            }
        }
    }

    private func work() {
        while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// The next job, once there is one; `nil` when the thread is not needed.
    private func next() -> UnownedJob? {
        while true {
            let job = state.withLock { state in
                let job = state.line.popFirst()
                if job == nil { state.idle += 1 }
                return job
            }
            if let job { return job }
            guard call.wait(timeout: .now() + Self.idleTime) == .timedOut else { continue }
            let mayGo = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if mayGo { return nil }
            // It has been called this moment.
            call.wait()
        }
    }
}
