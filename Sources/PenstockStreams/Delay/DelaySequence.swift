/// A sequence that gives the elements of another one later. Made by `delay(for:holding:tolerance:clock:)`, whose
/// description holds for it.
public struct DelaySequence<Base: AsyncSequence & Sendable, C: Clock>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the other sequence gives.
    public typealias Element = Base.Element

    @usableFromInline let base: Base
    @usableFromInline let interval: C.Instant.Duration
    @usableFromInline let heldMax: Int
    @usableFromInline let tolerance: C.Instant.Duration?
    @usableFromInline let clock: C

    @inlinable
    init(_ base: Base, interval: C.Instant.Duration, heldMax: Int, tolerance: C.Instant.Duration?, clock: C) {
        precondition(interval >= .zero, "A delay cannot be shorter than no time.")
        precondition(heldMax >= 1, "A delay needs room for at least one element.")
        self.base = base
        self.interval = interval
        self.heldMax = heldMax
        self.tolerance = tolerance
        self.clock = clock
    }

    /// Begins an iteration. Upstream is asked for nothing before the first `next()`.
    @inlinable public func makeAsyncIterator() -> Iterator {
        Iterator(DelayStorage(self))
    }

    /// Gives the elements. Letting it go cancels upstream.
    public struct Iterator: AsyncIteratorProtocol, ClosableIterator {
        @usableFromInline let hold: IteratorHold<DelayStorage<Base, C>>

        @inlinable init(_ storage: DelayStorage<Base, C>) {
            hold = IteratorHold(storage)
        }

        /// The next element, or `nil` after the last one and when the task is cancelled.
        ///
        /// It returns `nil` or throws only when no task of the stream runs any more.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the iteration.
        @inlinable public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            try await hold.next(isolation: isolation)
        }

        @inlinable package func close() async { await hold.storage.close() }
    }
}

@available(*, unavailable)
extension DelaySequence.Iterator: Sendable {}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Gives each element, and the finish, the interval after it came.
    ///
    /// - Asks upstream for `heldMax` elements with the consumer's first `next()`, which is not delayed, and for one
    ///   more each time the consumer takes one.
    /// - Holds each element until its moment, and longer while the consumer is busy. Their order stays.
    /// - Holds `heldMax` elements at most. When so many are held, upstream waits; then an element comes later than the
    ///   interval after it could have come. Choose as many as may arrive in one interval.
    /// - Finishes the interval after upstream did, when every element has been taken.
    /// - Fails as soon as upstream does: elements that are held are let go.
    /// - Cancels upstream when the consumer is cancelled or lets its iterator go.
    /// - Owns its tasks: the consumer sees the end, a failure or a cancellation only once they have ended.
    ///
    /// ```swift
    /// for try await reminder in reminders.delay(for: .seconds(60), clock: .continuous) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - interval: how much later, zero or more.
    ///   - heldMax: how many elements may be held at once, 1 or more.
    ///   - tolerance: how much later still an element may come where that saves energy; `nil` leaves it to the clock.
    ///   - clock: tells the time and sleeps.
    @inlinable public func delay<C: Clock>(
        for interval: C.Instant.Duration,
        holding heldMax: Int = 256,
        tolerance: C.Instant.Duration? = nil,
        clock: C
    ) -> DelaySequence<Self, C> {
        DelaySequence(self, interval: interval, heldMax: heldMax, tolerance: tolerance, clock: clock)
    }
}
