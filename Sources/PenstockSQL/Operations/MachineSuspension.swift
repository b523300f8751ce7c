package import PenstockCore
import Synchronization

/// Notices that the machine was suspended: the clock of leases has gone on, and no process has.
///
/// After that the leases of all workers may have ended at once, though each is about to ask for more time. The first
/// process to look must not take their messages: for a while after it has noticed, it counts no ends of leases. A process that was
/// started since does not know.
package final class MachineSuspension: Sendable {
    /// How long no ends count: time enough for a worker that lives to have its leases extended.
    static let grace = WorkerStanding.wordHolds
    /// Two clocks are not read in the same moment.
    private static let slack = Duration.seconds(1)

    private struct State {
        var asleep: Duration
        var noticedAt: BootTime?
    }

    private let asleep: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameter asleep: how long the machine has been suspended, counted from some moment.
    package init(asleep: @escaping @Sendable () -> Duration) {
        self.asleep = asleep
        state = Mutex(State(asleep: asleep()))
    }

    /// Whether the machine was suspended until a moment ago, as far as this process knows. To be asked often: what it
    /// notices is the difference to the time before.
    package func isJustOver(at now: BootTime) -> Bool {
        state.withLock { state in
            let asleep = asleep()
            if asleep - state.asleep > Self.slack { state.noticedAt = now }
            state.asleep = asleep
            guard let noticedAt = state.noticedAt else { return false }
            let isRecent = (noticedAt + Self.grace).left(at: now) != nil
            if !isRecent { state.noticedAt = nil }
            return isRecent
        }
    }

    /// Measures by the clock that goes on while the machine is suspended, and the one that does not.
    package static func measured() -> @Sendable () -> Duration {
        let (always, awake) = (ContinuousClock.now, SuspendingClock.now)
        return { (ContinuousClock.now - always) - (SuspendingClock.now - awake) }
    }
}
