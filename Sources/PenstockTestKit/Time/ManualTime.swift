public import PenstockCore

/// A `TimeSource` whose hands a test moves: nothing passes by itself.
///
/// It shows two clocks, as a machine does. ``advance(by:)`` moves both. ``set(wall:)`` is what an administrator or
/// NTP does: the wall clock jumps, the boot clock goes on as before. ``reboot(after:)`` starts a new boot clock.
///
/// Guarantees:
/// - A sleeper is woken when the wall clock reaches its deadline, in the order of deadlines and then of arrival.
/// - A sleeper is also woken when the wall clock is set, however far: `TimeSource` allows that, and a task
///   that sleeps must look at the time again.
/// - A cancelled sleeper throws `CancellationError` at once.
public final class ManualTime: TimeSource {
    private struct Hands: Reading {
        var wall: Timestamp
        var bootMicroseconds: Int64
        var bootCount: Int

        var moment: Timestamp { wall }

        mutating func pass(until moment: Timestamp) {
            guard moment > wall else { return }
            bootMicroseconds += (moment - wall).wholeMicroseconds
            wall = moment
        }
    }

    private let inside: HandMoved<Hands>

    /// Makes clocks that stand: the wall clock at `wall` (2025-01-01T00:00:00Z unless said otherwise), the boot clock
    /// at one hour.
    public init(wall: Timestamp = Timestamp(microseconds: 1_735_689_600_000_000)) {
        inside = HandMoved(Hands(wall: wall, bootMicroseconds: 3_600_000_000, bootCount: 1))
    }

    /// What the wall clock shows.
    public var now: Timestamp { inside.shown.wall }

    /// What the boot clock shows.
    public var boot: BootTime {
        let hands = inside.shown
        return BootTime(bootID: "boot-\(hands.bootCount)", microseconds: hands.bootMicroseconds)
    }

    /// Returns once the wall clock has reached `deadline`, or was set.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func sleep(until deadline: Timestamp) async throws {
        try await inside.sleep(until: deadline)
    }

    /// Time passes: both clocks go on by `duration`, and whose moment has come is woken. Never backwards.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "Time does not run backwards; to turn the wall clock back, set it.")
        inside.move { hands in
            hands.wall = hands.wall + duration
            hands.bootMicroseconds += duration.wholeMicroseconds
        }
    }

    /// Time passes until `moment` on the wall clock. Does nothing when `moment` is past.
    public func advance(to moment: Timestamp) {
        inside.move { $0.pass(until: moment) }
    }

    /// Time passes until the earliest moment that a task sleeps for.
    ///
    /// - Returns: `false`, with the hands where they were, when no task sleeps.
    @discardableResult
    public func advanceToNextDeadline() -> Bool {
        inside.moveToNextDeadline { $0.pass(until: $1) }
    }

    /// Somebody sets the wall clock, forwards or back. The boot clock does not move. Every sleeper is woken.
    public func set(wall: Timestamp) {
        inside.move(wakingAll: true) { $0.wall = wall }
    }

    /// The machine goes down, and is up again when `duration` has passed on the wall clock: the boot clock starts at
    /// zero, under a new name. Every sleeper is woken.
    public func reboot(after duration: Duration = .seconds(30)) {
        inside.move(wakingAll: true) { hands in
            hands.wall = hands.wall + duration
            hands.bootMicroseconds = 0
            hands.bootCount += 1
        }
    }

    /// How many tasks sleep by this source now.
    public var sleeperCount: Int { inside.sleeperCount }

    /// The earliest moment that a task sleeps for.
    public var nextDeadline: Timestamp? { inside.nextDeadline }

    /// Returns once at least `count` tasks sleep by this source: the signal that it is time to move the hands.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func waitForSleepers(count: Int = 1) async throws {
        try await inside.waitForSleepers(count: count)
    }
}
