import Dispatch
import Synchronization

/// Runs a job when the test says so.
final class SteppedExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "steps")
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs the job that has waited the longest, on a thread of its own, and returns when it is over.
    ///
    /// - Returns: whether there was one.
    @discardableResult func runNext() -> Bool {
        guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        let isOver = DispatchSemaphore(value: 0)
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            isOver.signal()
        }
        isOver.wait()
        return true
    }
}
