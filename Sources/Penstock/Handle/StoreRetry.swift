internal import Logging
internal import Metrics
internal import PenstockCore

/// How somebody who works with the store for long goes on when it fails: each failure that may pass is told and counted,
/// and the call is made again after a while, longer each time.
struct StoreRetry: Sendable {
    private let policy: RetryPolicy
    private var failureCount = 0

    /// - Parameter cap: the longest wait between two tries.
    init(base: Duration = .milliseconds(100), cap: Duration = .seconds(5)) {
        policy = RetryPolicy(base: base, cap: cap)
    }

    /// Tells of `error`, and counts it.
    ///
    /// - Parameter call: what was asked of the store, for the log.
    /// - Returns: how long to wait before the next try; `nil` when that could not help, and nothing was told.
    mutating func wait(
        after error: any Error, of call: StaticString, for queue: QueueName, _ handle: StoreHandle
    ) -> Duration? {
        guard let delay = delay(after: error, handle) else { return nil }
        handle.metrics(of: queue).storeErrors.increment()
        handle.logger.warning(
            "the store failed; trying again",
            metadata: ["queue": "\(queue)", "call": "\(call)", "error": "\(error)", "wait": "\(delay)"])
        return delay
    }

    /// Counts a failure, and tells of none.
    ///
    /// - Returns: how long to wait before the next try; `nil` when that could not help.
    mutating func delay(after error: any Error, _ handle: StoreHandle) -> Duration? {
        guard let error = error as? PenstockError, error.mayPass else { return nil }
        failureCount += 1
        return policy.delay(afterAttempt: failureCount, random: handle.random.nextUnit())
    }

    /// The store has answered: the next failure is the first one again.
    mutating func succeeded() {
        failureCount = 0
    }
}
