internal import Dispatch

/// Runs what streams do in the store.
///
/// These are threads of Dispatch and not Swift's own: where a source must be made to wait for the store, it waits on
/// whatever thread it sends from, and the store's answer must not need that one.
final class StreamExecutor: TaskExecutor {
    /// The one of this process; a test has its own, which says when nothing can go on by itself.
    @TaskLocal static var current: any TaskExecutor = StreamExecutor()

    /// Which engine's task this is: what that one asks of upstream may not be answered on its own thread, as the answer
    /// may have to wait for it.
    @TaskLocal static var engine: ObjectIdentifier?

    private let queue = DispatchQueue(label: "penstock streams", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
