internal import PenstockCore
internal import Synchronization

/// Lets one of many callers pass in an interval, for what all users of a store share: many of them do it no more often than
/// one.
final class RateGate: Sendable {
    /// Between two looks for lost work.
    static let reclaimInterval = Duration.milliseconds(500)
    /// Between two rounds of pruning.
    static let pruneInterval = Duration.seconds(60)

    private let interval: Duration
    private let time: any TimeSource
    private let last = Mutex<BootTime?>(nil)

    /// Makes a gate that lets one pass in `interval`, by the boot clock.
    init(_ interval: Duration, time: any TimeSource) {
        self.interval = interval
        self.time = time
    }

    /// Whether a caller could pass now.
    var isDue: Bool {
        let now = time.boot
        return last.withLock { $0.map { !$0.isRecent(at: now, within: interval) } ?? true }
    }

    /// Whether the caller may pass. It must do what it passes for: no other caller passes for the interval.
    func tryPass() -> Bool {
        let now = time.boot
        return last.withLock { last in
            if let last, last.isRecent(at: now, within: interval) { return false }
            last = now
            return true
        }
    }
}
