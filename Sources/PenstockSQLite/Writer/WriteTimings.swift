import PenstockCore
import Synchronization

/// How long the threads that write have waited, for all who ask.
final class WriteTimings: Sendable {
    private let timings = Mutex(StoreTimings())

    var now: StoreTimings { timings.withLock { $0 } }

    func recordFlush(since start: ContinuousClock.Instant) {
        let duration = start.duration(to: .now)
        timings.withLock { $0.flush.record(duration) }
    }

    /// - Parameter start: when a wait for other processes began; `nil`: there was none.
    func recordWriterLock(since start: ContinuousClock.Instant?) {
        let duration = start?.duration(to: .now) ?? .zero
        timings.withLock { $0.writerLock.record(duration) }
    }
}
