/// A `Clock` whose hands a test moves: nothing passes by itself.
///
/// Guarantees:
/// - `now` only changes when somebody advances the clock.
/// - A sleeper is woken by the advance that reaches its deadline, never before. One advance wakes sleepers by
///   deadline, and those of one deadline in the order in which they lay down. (What the woken tasks do next runs on
///   their executors, in an order that no clock decides.)
/// - A cancelled sleeper throws `CancellationError` at once.
///
/// A test waits for a signal and then moves the hands; it never waits in real time:
///
/// ```swift
/// let clock = ManualClock()
/// async let late: Void = clock.sleep(for: .seconds(3))
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(3))
/// try await late
/// ```
public final class ManualClock: Clock {
    /// A moment on the clock: how long after the clock's making it is.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// How long after the clock's making this is.
        public var offset: Duration

        /// Makes the moment `offset` after the clock's making.
        public init(offset: Duration = .zero) {
            self.offset = offset
        }

        /// The moment `duration` later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// How long it is from this moment to `other`.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Whether `left` is the earlier one.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }

        /// The offset, for people.
        public var description: String { "\(offset)" }
    }

    private let inside = HandMoved(Instant())

    /// Makes a clock that stands at zero.
    public init() {}

    /// What the clock shows.
    public var now: Instant { inside.shown }

    /// Zero: the clock is exact.
    public var minimumResolution: Duration { .zero }

    /// Returns once the clock was advanced to `deadline` or beyond; at once when it stands there already.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await inside.sleep(until: deadline)
    }

    /// Moves the hands on by `duration`, and wakes whose moment has come. Never backwards.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "A clock of this kind never goes backwards.")
        inside.move { $0.offset += duration }
    }

    /// Moves the hands on to `moment`, and wakes whose moment has come. Does nothing when `moment` is past.
    public func advance(to moment: Instant) {
        inside.move { $0 = max($0, moment) }
    }

    /// Moves the hands on to the earliest deadline that a task sleeps for, and wakes its sleepers.
    ///
    /// - Returns: `false`, with the hands where they were, when no task sleeps.
    @discardableResult
    public func advanceToNextDeadline() -> Bool {
        inside.moveToNextDeadline { $0 = $1 }
    }

    /// How many tasks sleep by this clock now.
    public var sleeperCount: Int { inside.sleeperCount }

    /// The earliest deadline that a task sleeps for.
    public var nextDeadline: Instant? { inside.nextDeadline }

    /// Returns once at least `count` tasks sleep by this clock: the signal that it is time to advance it.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func waitForSleepers(count: Int = 1) async throws {
        try await inside.waitForSleepers(count: count)
    }
}

extension ManualClock.Instant: Reading {
    var moment: ManualClock.Instant { self }
}
