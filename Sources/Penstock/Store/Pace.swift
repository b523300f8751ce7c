internal import PenstockCore
internal import Synchronization

/// Says when something that all users of a store share is to be done again: many of them do it no more often than one.
final class Pace: Sendable {
    /// Between two looks for lost work.
    static let ofReclaiming = Duration.milliseconds(500)
    /// Between two rounds of pruning.
    static let ofPruning = Duration.seconds(60)

    private let interval: Duration
    private let time: any TimeSource
    private let last = Mutex<BootTime?>(nil)

    /// Makes a pace at which something is done once in `interval` at most, by the boot clock.
    init(_ interval: Duration, time: any TimeSource) {
        self.interval = interval
        self.time = time
    }

    /// Whether a turn would be given now.
    var isDue: Bool {
        let now = time.boot
        return last.withLock { $0.map { !isRecent($0, at: now) } ?? true }
    }

    /// Whether it is due. Who is told so must do it: nobody else is told for the interval.
    func takesTurn() -> Bool {
        let now = time.boot
        return last.withLock { last in
            if let last, isRecent(last, at: now) { return false }
            last = now
            return true
        }
    }

    private func isRecent(_ last: BootTime, at now: BootTime) -> Bool {
        last.bootID == now.bootID && now.microseconds - last.microseconds < interval.wholeMicroseconds
    }
}
