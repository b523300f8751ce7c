public import PenstockStreams

/// A sequence that keeps the values of another one in a queue until its consumer asks for them. Made by
/// `buffer(size:prefetch:whenFull:in:lease:)` and `delay(for:holding:in:lease:)`, whose descriptions hold for it.
public struct DurableBufferSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// A value, under a lease until it is settled.
    public typealias Element = Delivery<Base.Element>
    /// What upstream, the overflow policy or the store throws.
    public typealias Failure = any Error

    @usableFromInline let base: Base
    @usableFromInline let queue: Queue<Base.Element>
    @usableFromInline let options: BufferEngine<Base.Element>.Options

    /// Begins an iteration. It asks for nothing, of the queue or of upstream, before the first `next()`.
    @inlinable public func makeAsyncIterator() -> Iterator {
        Iterator(DurableBufferStorage(self))
    }

    /// Gives the deliveries. Letting it go cancels upstream; what waits stays in the queue.
    public struct Iterator: AsyncIteratorProtocol, DemandedIterator, ClosableIterator {
        @usableFromInline let hold: IteratorHold<DurableBufferStorage<Base>>

        @inlinable init(_ storage: DurableBufferStorage<Base>) {
            hold = IteratorHold(storage)
        }

        @usableFromInline package var request: @Sendable (Int) -> Void {
            { [storage = hold.storage] in storage.request($0) }
        }

        /// The next delivery, or `nil` after the last one and when the task is cancelled.
        ///
        /// It returns `nil` or throws only when no task of the stream runs any more, and what it held and did not give
        /// is back in line.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the iteration.
        @inlinable public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> Delivery<Base.Element>? {
            try await hold.next(isolation: isolation)
        }

        @inlinable package func close() async { await hold.storage.close() }
    }
}

@available(*, unavailable)
extension DurableBufferSequence.Iterator: Sendable {}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Keeps up to `size` values that arrive while the consumer is busy as messages of a queue, so that they survive a
    /// restart.
    ///
    /// It does as `buffer(size:prefetch:whenFull:onDrop:)` does in memory, and the same values come out. Beyond that:
    ///
    /// - It hands on deliveries. `flatMap(maxConcurrent:_:)` directly behind it gives its closure the values and settles
    ///   by itself; a program that reads it otherwise settles each delivery.
    /// - The queue's capacity and overflow policy are the operator's: they are set when an iteration begins.
    /// - Every value is stored before it is handed on, also one that takes no place.
    /// - A value that is dropped stays in the queue's log, with its state and the reason (`penstock_drops`).
    /// - A new iteration first gives what an earlier one handed out and nobody settled, then what waits, then what
    ///   arrives. An earlier one that had paused stays paused. Which values upstream is to begin with is upstream's
    ///   matter; the queue's log tells which ones have arrived.
    /// - Gives what waits, and then finishes, when upstream has finished: when no message of the queue waits, one to be
    ///   retried included, and every delivery is settled.
    /// - Fails as soon as upstream or the store does. What has arrived by its end is stored, and stays, but for values that
    ///   wait for room then, and for those that a store which fails for good has not taken: they are lost, and the store's
    ///   logger is told how many.
    /// - Gives what it held and did not hand out back in line when the consumer is cancelled or lets its iterator go.
    ///
    /// Others may enqueue to and consume from the same queue; the bounds hold for all of them together.
    ///
    /// ```swift
    /// for try await delivery in readings.buffer(size: 100, prefetch: .byRequest, whenFull: .dropOldest, in: queue) {
    ///     try await delivery.done()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - size: how many values may wait, within `Limits.capacityRange`.
    ///   - prefetch: how upstream is asked for values. With `wait` it is asked for as many as there is room for.
    ///   - whenFull: what happens to a value that finds the queue full.
    ///   - queue: where values wait.
    ///   - lease: how long a delivery's lease lasts unless it is extended, within `Limits.leaseRange`. `flatMap` extends
    ///     the leases of what it works on.
    ///
    /// The iterator throws `invalidInput` when a number is out of its range.
    public func buffer(
        size: Int,
        prefetch: BufferPrefetch,
        whenFull: DurableOverflow,
        in queue: Queue<Element>,
        lease: Duration = .seconds(30)
    ) -> DurableBufferSequence<Self> {
        DurableBufferSequence(
            base: self, queue: queue,
            options: .init(size: size, prefetch: prefetch, whenFull: whenFull, lease: lease))
    }
}
