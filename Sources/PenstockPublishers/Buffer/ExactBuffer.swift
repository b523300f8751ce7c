public import PenstockStreams

extension Publishers {
    /// A publisher that keeps values of another one until its subscriber asks for them.
    /// Made by `exactBuffer(size:prefetch:whenFull:)`, whose description holds for it.
    public struct ExactBuffer<Upstream: Publisher>: Publisher {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails, and an overflow that is an error.
        public typealias Failure = Upstream.Failure

        @usableFromInline let upstream: Upstream
        /// Makes what stands between upstream and a subscriber, with a buffer of its own.
        @usableFromInline let connect: (AnySubscriber<Output, Failure>) -> AnySubscriber<Output, Failure>

        @inlinable init(
            _ upstream: Upstream, size: Int, prefetch: Publishers.PrefetchStrategy,
            whenFull: Publishers.BufferingStrategy<Failure>, onDrop: ((Output) -> Void)?
        ) {
            precondition(size >= 0, "A buffer cannot have fewer than no places.")
            self.upstream = upstream
            let core = BufferCore<Output, Failure>(
                size: size, prefetch: prefetch == .byRequest ? .byRequest : .keepFull, whenFull: .init(whenFull))
            connect = { BufferConduit($0, core: core, whenFull: whenFull, onDrop: onDrop).asSubscriber }
        }

        /// Begins a subscription, with a buffer of its own.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            upstream.subscribe(connect(AnySubscriber(subscriber)))
        }
    }
}

extension Publisher {
    /// Keeps up to `size` values that arrive while the subscriber is busy, by the rules of iOS 13.
    ///
    /// Combine's own operator since iOS 14, and the open port's, ask upstream before the subscriber's first demand has come,
    /// and so give other values. A program that imports PenstockCombine has this one by the name of `buffer`, too.
    ///
    /// - Asks upstream for nothing before the subscriber's first demand. So the first value of any source goes straight
    ///   through to it.
    /// - Gives a value for which there is demand at once. Such a value takes no place: `size` counts values that wait.
    /// - Keeps a value that arrives otherwise, and gives these in their order, one for each demand.
    /// - Does as `whenFull` says with a value that finds `size` others waiting.
    /// - Asks upstream as `prefetch` says. With `byRequest` without limit and without a pause. With `keepFull` it
    ///   pauses after each value that overflowed, until the subscriber takes another; a subject loses what it sends
    ///   meanwhile.
    /// - Gives what waits, and then finishes, when upstream has finished. Fails as soon as upstream does.
    ///
    /// `receive`, `request` and `cancel` may race and re-enter.
    ///
    /// ```swift
    /// readings.exactBuffer(size: 100, prefetch: .byRequest, whenFull: .dropOldest)
    /// ```
    ///
    /// - Parameters:
    ///   - size: how many values may wait, 0 or more.
    ///   - prefetch: how upstream is asked for values.
    ///   - whenFull: what happens to a value that finds the buffer full.
    @inlinable public func exactBuffer(
        size: Int,
        prefetch: Publishers.PrefetchStrategy,
        whenFull: Publishers.BufferingStrategy<Failure>
    ) -> Publishers.ExactBuffer<Self> {
        Publishers.ExactBuffer(self, size: size, prefetch: prefetch, whenFull: whenFull, onDrop: nil)
    }

    /// Keeps up to `size` values that arrive while the subscriber is busy, and tells of each that is discarded.
    ///
    /// It does as `exactBuffer(size:prefetch:whenFull:)`.
    ///
    /// - Parameters:
    ///   - size: how many values wait at most.
    ///   - prefetch: how much is asked of upstream.
    ///   - whenFull: what becomes of a value that finds the buffer full.
    ///   - onDrop: told of each value that overflowed and was discarded, in the order in which they were.
    @inlinable public func buffer(
        size: Int,
        prefetch: Publishers.PrefetchStrategy,
        whenFull: Publishers.BufferingStrategy<Failure>,
        onDrop: @escaping (Output) -> Void
    ) -> Publishers.ExactBuffer<Self> {
        Publishers.ExactBuffer(self, size: size, prefetch: prefetch, whenFull: whenFull, onDrop: onDrop)
    }
}

extension BufferCore.WhenFull {
    @inlinable init(_ whenFull: Publishers.BufferingStrategy<Failure>) {
        switch whenFull {
        case .dropNewest: self = .dropNewest
        case .dropOldest: self = .dropOldest
        case .customError: self = .fail
        @unknown default: self = .dropNewest
        }
    }
}
