import Logging
import Penstock
import PenstockCore

/// How a command that looks again and again, until it is interrupted, outlives a time in which the store does not answer: a server
/// that is started anew, a database that fails over.
struct StoreOutage {
    private static let policy = RetryPolicy(base: .milliseconds(100), cap: .seconds(2))
    private let random = SystemRandom()
    private var failureCount = 0

    /// Waits for a while after a failure that may pass. The first one of several is told.
    ///
    /// - Parameter limit: how long it waits at most; `nil`: as long as it thinks best.
    /// - Throws: an error of another kind; `CancellationError` when the task is cancelled.
    mutating func wait(after error: any Error, by time: any TimeSource, upTo limit: Duration? = nil) async throws {
        guard let failure = error as? PenstockError, failure.isOfStalledStore else { throw error }
        if failureCount == 0 { ErrorOutput.say("\(failure.message) Trying again until it answers.", .warning) }
        failureCount += 1
        let delay = Self.policy.delay(afterAttempt: failureCount, random: random.nextUnit())
        try await time.sleep(for: min(delay, limit ?? delay))
    }

    /// The store has answered.
    mutating func ended() {
        if failureCount > 0 { ErrorOutput.say("The store answers again.") }
        failureCount = 0
    }
}
