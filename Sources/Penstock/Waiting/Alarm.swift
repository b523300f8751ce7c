internal import PenstockCore
internal import Synchronization

/// Calls after a while, for somebody who waits again and again and mostly for other things: an alarm that is set stays,
/// and setting it to a later time costs nothing.
final class Alarm: Sendable {
    private struct Setting {
        var end: BootTime
        var task: Task<Void, Never>
    }

    private let time: any TimeSource
    private let call: @Sendable () -> Void
    private let setting = Mutex<Setting?>(nil)

    init(_ time: any TimeSource, call: @escaping @Sendable () -> Void) {
        self.time = time
        self.call = call
    }

    /// Calls at `end`. If it is set to an earlier time still, it calls then instead, and has to be set again.
    func set(to end: BootTime) {
        let now = time.boot
        setting.withLock { setting in
            if let setting, setting.end.microseconds <= end.microseconds, setting.end.left(at: now) != nil { return }
            setting?.task.cancel()
            let task = Task { [time, call] in
                guard (try? await time.sleep(for: end.left(at: now) ?? .zero)) != nil else { return }
                call()
            }
            setting = Setting(end: end, task: task)
        }
    }

    /// Does not call any more, or only if it does so already.
    func stop() {
        setting.withLock { setting in
            setting?.task.cancel()
            setting = nil
        }
    }
}
