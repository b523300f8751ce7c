public import Penstock
internal import PenstockStreams

extension Publishers {
    /// A publisher that keeps the values of another one in a queue until its subscriber asks for them. Made by
    /// `buffer(size:prefetch:whenFull:in:)` and `delay(for:in:)`, whose descriptions hold for it.
    public struct DurableBuffer<Upstream: Publisher>: Publisher where Upstream.Output: Sendable {
        /// A value, under a lease until it is settled.
        public typealias Output = Delivery<Upstream.Output>
        /// What upstream, an overflow that is an error, or the store throws.
        public typealias Failure = any Error

        let upstream: Upstream
        let queue: Queue<Upstream.Output>
        let options: BufferEngine<Upstream.Output>.Options

        /// Begins a subscription. It asks for nothing, of the queue or of upstream, before it is asked.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            let conduit = DurableBufferConduit(AnySubscriber(subscriber), queue: queue, options: options)
            upstream.subscribe(DurableBufferConduit.Intake<Upstream.Failure>(conduit: conduit))
        }
    }
}

extension Publisher where Output: Sendable {
    /// Keeps up to `size` values that arrive while the subscriber is busy as messages of a queue, so that they survive
    /// a restart.
    ///
    /// It does as `buffer(size:prefetch:whenFull:)` does in memory, and the same values come out. Beyond that:
    ///
    /// - It hands on deliveries. `flatMap(maxPublishers:_:)` directly behind it gives its closure the values and
    ///   settles by itself; any other subscriber settles each delivery.
    /// - The queue's capacity and overflow policy are the operator's: they are set when a subscription begins.
    /// - Every value is stored before it is handed on, also one that takes no place.
    /// - A value that is dropped stays in the queue's log, with its state and the reason (`penstock_drops`).
    /// - A new subscription first gives what an earlier one handed out and nobody settled, then what waits, then what
    ///   arrives.
    /// - Gives what waits, and then finishes, when upstream has finished: when no message of the queue waits, one to be
    ///   tried again included, and every delivery is settled.
    /// - Fails as soon as upstream or the store does. What has arrived by its end is stored, and stays, but for values that
    ///   wait for room then, and for those that a store which fails for good has not taken: they are lost, and the store's
    ///   logger is told how many.
    /// - Gives its values on a thread of its own, one at a time. The thread that subscribes and asks first waits until
    ///   the queue is open. A source is made to wait, on the thread that it sends from, while `Limits.stagedCountMax`
    ///   values of the pipeline, or `Limits.stagedBytesMax` bytes of them, wait for the store; not a subscriber
    ///   that sends into its own source, which would wait for itself.
    ///
    /// ```swift
    /// readings.buffer(size: 100, prefetch: .byRequest, whenFull: .dropOldest, in: queue)
    ///     .flatMap(maxPublishers: .max(1)) { reading in store(reading) }
    /// ```
    ///
    /// - Parameters:
    ///   - size: how many values may wait, within `Limits.capacityRange`.
    ///   - prefetch: how upstream is asked for values.
    ///   - whenFull: what happens to a value that finds the queue full. With `customError` what waits stays, and the
    ///     next subscription on the queue gets it first.
    ///   - queue: where values wait.
    ///   - lease: how long a delivery's lease lasts unless it is extended, within `Limits.leaseRange`.
    ///
    /// The subscription fails with `invalidInput` when a number is out of its range.
    public func buffer(
        size: Int,
        prefetch: Publishers.PrefetchStrategy,
        whenFull: Publishers.BufferingStrategy<any Error>,
        in queue: Queue<Output>,
        lease: Duration = .seconds(30)
    ) -> Publishers.DurableBuffer<Self> {
        let overflow: DurableOverflow
        switch whenFull {
        case .dropNewest: overflow = .dropNewest
        case .dropOldest: overflow = .dropOldest
        case .customError(let makeError):
            let maker = ErrorMaker(makeError: makeError)
            overflow = .customError { maker.makeError() }
        #if canImport(Combine)
            @unknown default: overflow = .dropNewest
        #endif
        }
        return Publishers.DurableBuffer(
            upstream: self, queue: queue,
            options: .init(
                size: size, prefetch: prefetch == .byRequest ? .byRequest : .keepFull, whenFull: overflow, lease: lease)
        )
    }

    /// Keeps up to `size` values that arrive while the subscriber is busy as messages of a queue, and loses none:
    /// upstream is asked for as many as there is room for.
    ///
    /// It does as `buffer(size:prefetch:whenFull:in:)` otherwise. A source that cannot be paused (a subject) loses what
    /// it sends while it is asked for nothing.
    public func buffer(
        size: Int, in queue: Queue<Output>, lease: Duration = .seconds(30)
    ) -> Publishers.DurableBuffer<Self> {
        Publishers.DurableBuffer(
            upstream: self, queue: queue,
            options: .init(size: size, prefetch: .keepFull, whenFull: .wait, lease: lease))
    }

    /// Gives each value, and the finish, `interval` after it came, by way of a queue: a delay that is running goes on
    /// after a restart with what was left of it.
    ///
    /// It hands on deliveries, as `buffer(size:prefetch:whenFull:in:)` does, and upstream is asked for as many values
    /// as may be held. The subscription is not delayed, and neither is a failure.
    ///
    /// - Parameters:
    ///   - interval: how much later, up to `Limits.delayMax`.
    ///   - heldMax: how many values may be held, within `Limits.capacityRange`.
    ///   - queue: where they are held. A value's due time is its message's.
    ///   - lease: how long a delivery's lease lasts unless it is extended, within `Limits.leaseRange`.
    public func delay(
        for interval: Duration, holding heldMax: Int = 256, in queue: Queue<Output>, lease: Duration = .seconds(30)
    ) -> Publishers.DurableBuffer<Self> {
        Publishers.DurableBuffer(
            upstream: self, queue: queue,
            options: .init(size: heldMax, prefetch: .keepFull, whenFull: .wait, lease: lease, delay: interval))
    }
}

/// What makes the error of an overflow.
// Combine's closures are called from whatever thread a value arrives on, this one as well.
private struct ErrorMaker: @unchecked Sendable {
    let makeError: () -> any Error
}
