/// A sequence that turns each element of another one into an inner sequence and merges these, a limited number at a
/// time. Made by `flatMap(maxConcurrent:_:)`, whose description holds for it.
public struct FlatMapSequence<
    Base: AsyncSequence & Sendable, Inner: AsyncSequence & SendableMetatype, Failure: Error
>: AsyncSequence, Sendable where Base.Element: Sendable, Inner.Element: Sendable {
    /// What the inner sequences give.
    public typealias Element = Inner.Element

    @usableFromInline let base: Base
    @usableFromInline let maxConcurrent: Int
    @usableFromInline let transform: @Sendable (Base.Element) -> Inner
    @usableFromInline let failureOfBase: @Sendable (Base.Failure) -> Failure
    @usableFromInline let failureOfInner: @Sendable (Inner.Failure) -> Failure
    /// What takes part in the inner sequences, if anything does, and what its failures are to the stream.
    @usableFromInline let delegate: Delegate?

    @usableFromInline struct Delegate: Sendable {
        @usableFromInline var make: @Sendable () -> FlatMapDelegate<Base.Element>
        @usableFromInline var failure: @Sendable (any Error) -> Failure

        @inlinable init(
            make: @escaping @Sendable () -> FlatMapDelegate<Base.Element>,
            failure: @escaping @Sendable (any Error) -> Failure
        ) {
            self.make = make
            self.failure = failure
        }
    }

    @inlinable init(
        _ base: Base,
        maxConcurrent: Int,
        transform: @escaping @Sendable (Base.Element) -> Inner,
        failureOfBase: @escaping @Sendable (Base.Failure) -> Failure,
        failureOfInner: @escaping @Sendable (Inner.Failure) -> Failure,
        delegate: Delegate? = nil
    ) {
        precondition(maxConcurrent >= 1, "flatMap needs room for at least one inner sequence.")
        self.base = base
        self.maxConcurrent = maxConcurrent
        self.transform = transform
        self.failureOfBase = failureOfBase
        self.failureOfInner = failureOfInner
        self.delegate = delegate
    }

    /// Makes one whose inner sequences a delegate takes part in. Their failures are the delegate's, and not the stream's.
    @inlinable package init(
        _ base: Base,
        maxConcurrent: Int,
        transform: @escaping @Sendable (Base.Element) -> Inner,
        delegate: @escaping @Sendable () -> FlatMapDelegate<Base.Element>
    ) where Failure == any Error {
        self.init(
            base, maxConcurrent: maxConcurrent, transform: transform, failureOfBase: { $0 }, failureOfInner: { $0 },
            delegate: Delegate(make: delegate, failure: { $0 }))
    }

    /// Begins an iteration. Upstream is asked for nothing before the first `next()`.
    @inlinable public func makeAsyncIterator() -> Iterator {
        Iterator(FlatMapStorage(self))
    }

    /// Gives the elements of the inner sequences. Letting it go cancels upstream and all inner sequences.
    public struct Iterator: AsyncIteratorProtocol, ClosableIterator {
        @usableFromInline let hold: IteratorHold<FlatMapStorage<Base, Inner, Failure>>

        @inlinable init(_ storage: FlatMapStorage<Base, Inner, Failure>) {
            hold = IteratorHold(storage)
        }

        /// The next element, or `nil` after the last one and when the task is cancelled.
        ///
        /// It returns `nil` or throws only when no task of the stream runs any more.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the iteration.
        @inlinable public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Failure) -> Inner.Element? {
            try await hold.next(isolation: isolation)
        }

        @inlinable package func close() async { await hold.storage.close() }
    }
}

@available(*, unavailable)
extension FlatMapSequence.Iterator: Sendable {}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Turns each element into a sequence and merges these, at most `maxConcurrent` of them at a time.
    ///
    /// - Asks upstream for `maxConcurrent` elements at first, and for one more each time an inner sequence finishes.
    /// - Gives the values of the inner sequences as they arrive; those of one inner sequence in its order.
    /// - Reads no inner sequence further than one value beyond what the consumer took.
    /// - Finishes when upstream and all inner sequences have finished.
    /// - Fails as soon as upstream or an inner sequence fails: values that nobody took yet are let go, and everything
    ///   is cancelled.
    /// - Cancels upstream and all inner sequences when the consumer is cancelled or lets its iterator go.
    /// - Owns its tasks: the consumer sees the end, a failure or a cancellation only once they have all ended. An inner
    ///   sequence that ignores cancellation holds that up.
    ///
    /// ```swift
    /// for try await page in links.flatMap(maxConcurrent: 4, { link in crawl(link) }) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - maxConcurrent: how many inner sequences may run at once, 1 or more.
    ///   - transform: makes the inner sequence of an element. It is called in the task that reads the inner sequence.
    @inlinable public func flatMap<Inner: AsyncSequence & SendableMetatype>(
        maxConcurrent: Int, _ transform: @escaping @Sendable (Element) -> Inner
    ) -> FlatMapSequence<Self, Inner, Failure> where Inner.Element: Sendable, Inner.Failure == Failure {
        FlatMapSequence(
            self, maxConcurrent: maxConcurrent, transform: transform, failureOfBase: { $0 }, failureOfInner: { $0 })
    }

    /// Turns each element into a sequence that cannot fail and merges these, at most `maxConcurrent` of them at a
    /// time.
    ///
    /// It does as `flatMap(maxConcurrent:_:)` for inner sequences that fail as upstream does.
    @inlinable public func flatMap<Inner: AsyncSequence & SendableMetatype>(
        maxConcurrent: Int, _ transform: @escaping @Sendable (Element) -> Inner
    ) -> FlatMapSequence<Self, Inner, Failure> where Inner.Element: Sendable, Inner.Failure == Never {
        FlatMapSequence(
            self, maxConcurrent: maxConcurrent, transform: transform, failureOfBase: { $0 },
            failureOfInner: impossible)
    }

    /// Turns each element into a sequence that can fail, where upstream cannot, and merges these, at most
    /// `maxConcurrent` of them at a time.
    ///
    /// It does as `flatMap(maxConcurrent:_:)` for inner sequences that fail as upstream does.
    @inlinable public func flatMap<Inner: AsyncSequence & SendableMetatype>(
        maxConcurrent: Int, _ transform: @escaping @Sendable (Element) -> Inner
    ) -> FlatMapSequence<Self, Inner, Inner.Failure> where Inner.Element: Sendable, Failure == Never {
        FlatMapSequence(
            self, maxConcurrent: maxConcurrent, transform: transform, failureOfBase: impossible,
            failureOfInner: { $0 })
    }

    /// Turns each element into a sequence that cannot fail, where upstream cannot either, and merges these, at most
    /// `maxConcurrent` of them at a time.
    ///
    /// It does as `flatMap(maxConcurrent:_:)` for inner sequences that fail as upstream does.
    @inlinable public func flatMap<Inner: AsyncSequence & SendableMetatype>(
        maxConcurrent: Int, _ transform: @escaping @Sendable (Element) -> Inner
    ) -> FlatMapSequence<Self, Inner, Never> where Inner.Element: Sendable, Inner.Failure == Never, Failure == Never {
        FlatMapSequence(
            self, maxConcurrent: maxConcurrent, transform: transform, failureOfBase: impossible,
            failureOfInner: impossible)
    }
}
