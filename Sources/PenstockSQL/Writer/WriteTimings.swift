package import PenstockCore
import Synchronization

/// How long the threads that write have waited, for all who ask.
package final class WriteTimings: Sendable {
    package init() {}

    private let timings = Mutex(StoreTimings())

    package var now: StoreTimings { timings.withLock { $0 } }

    package func recordFlush(since start: ContinuousClock.Instant) {
        let duration = start.duration(to: .now)
        timings.withLock { $0.flush.record(duration) }
    }

    /// - Parameter start: when a wait for other processes began; `nil`: there was none.
    package func recordWriterLock(since start: ContinuousClock.Instant?) {
        let duration = start?.duration(to: .now) ?? .zero
        timings.withLock { $0.writerLock.record(duration) }
    }
}
