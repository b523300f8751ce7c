import Dispatch
import PenstockTestKit

/// Runs jobs one after the other, and counts them.
final class CountingExecutor: TaskExecutor {
    let count = Tally()
    private let queue = DispatchQueue(label: "jobs")

    func enqueue(_ job: consuming ExecutorJob) {
        count.add()
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
