import PenstockCore
import Synchronization

/// When to look whether schedules are to be reckoned anew (``FiringSurvey``): at the first firing of a process, when the clock was set, and
/// once in an hour after it.
final class SurveyTime: Sendable {
    private struct Look {
        var boot: BootTime
        var wall: Timestamp
    }

    private let last = Mutex<Look?>(nil)

    /// Whether it is time; it is so once for each time that it is.
    func isDue(by time: any TimeSource) -> Bool {
        let now = Look(boot: time.boot, wall: time.now)
        return last.withLock { last in
            if let last, last.boot.isRecent(at: now.boot, within: .seconds(3600)) {
                let passed = now.boot.microseconds - last.boot.microseconds
                let set = (now.wall - last.wall).wholeMicroseconds - passed
                if abs(set) < 60_000_000 { return false }
            }
            last = now
            return true
        }
    }

    /// The look came to nothing, and is due again.
    func failed() { last.withLock { $0 = nil } }
}
