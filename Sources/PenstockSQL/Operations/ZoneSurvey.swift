import PenstockCore
import Synchronization

/// When to look whether the data of time zones has changed: at the first firing of a process, and once in an hour after it.
final class ZoneSurvey: Sendable {
    private let last = Mutex<BootTime?>(nil)

    /// Whether it is time; it is so once for each time that it is.
    func isDue(at now: BootTime) -> Bool {
        last.withLock { last in
            if let last, last.bootID == now.bootID, now.microseconds - last.microseconds < 3_600_000_000 {
                return false
            }
            last = now
            return true
        }
    }
}
