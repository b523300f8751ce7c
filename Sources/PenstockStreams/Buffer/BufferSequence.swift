/// A sequence that keeps elements of another one until its consumer asks for them.
/// Made by `buffer(size:prefetch:whenFull:)`, whose description holds for it.
public struct BufferSequence<Base: AsyncSequence & Sendable, Failure: Error>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the other sequence gives.
    public typealias Element = Base.Element

    @usableFromInline let base: Base
    @usableFromInline let size: Int
    @usableFromInline let prefetch: BufferPrefetch
    @usableFromInline let whenFull: BufferOverflow<Failure>
    @usableFromInline let onDrop: @Sendable (Base.Element) -> Void
    @usableFromInline let failureOfBase: @Sendable (Base.Failure) -> Failure

    @inlinable init(
        _ base: Base,
        size: Int,
        prefetch: BufferPrefetch,
        whenFull: BufferOverflow<Failure>,
        onDrop: @escaping @Sendable (Base.Element) -> Void,
        failureOfBase: @escaping @Sendable (Base.Failure) -> Failure
    ) {
        precondition(size >= 0, "A buffer cannot have fewer than no places.")
        self.base = base
        self.size = size
        self.prefetch = prefetch
        self.whenFull = whenFull
        self.onDrop = onDrop
        self.failureOfBase = failureOfBase
    }

    /// Begins an iteration, with a buffer of its own. Upstream is asked for nothing before the first `next()`.
    @inlinable public func makeAsyncIterator() -> Iterator {
        Iterator(BufferStorage(self))
    }

    /// Gives the elements. Letting it go cancels upstream.
    public struct Iterator: AsyncIteratorProtocol, DemandedIterator, ClosableIterator {
        @usableFromInline let hold: IteratorHold<BufferStorage<Base, Failure>>

        @inlinable init(_ storage: BufferStorage<Base, Failure>) {
            hold = IteratorHold(storage)
        }

        @inlinable package var request: @Sendable (Int) -> Void {
            { [storage = hold.storage] in storage.request($0) }
        }

        /// The next element, or `nil` after the last one and when the task is cancelled.
        ///
        /// It returns `nil` or throws only when no task of the stream runs any more.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the iteration.
        @inlinable public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Failure) -> Base.Element? {
            try await hold.next(isolation: isolation)
        }

        @inlinable package func close() async { await hold.storage.close() }
    }
}

@available(*, unavailable)
extension BufferSequence.Iterator: Sendable {}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Keeps up to `size` elements that arrive while the consumer is busy.
    ///
    /// - Asks upstream for nothing before the consumer's first demand. So the first element of any source goes straight
    ///   through to it.
    /// - Gives an element that the consumer waits for to it at once. Such an element takes no place, and neither does
    ///   what the consumer works on: `size` counts elements that wait.
    /// - Keeps an element that arrives otherwise, and gives these in their order, one for each demand.
    /// - Does as `whenFull` says with an element that finds `size` others waiting. `onDrop` is told of each element
    ///   that is discarded so.
    /// - Asks upstream as `prefetch` says. With `byRequest` it never pauses: use it when upstream cannot wait. With
    ///   `keepFull` it pauses after each element that was discarded, until the consumer asks for another.
    /// - Gives what waits, and then finishes, when upstream has finished.
    /// - Fails as soon as upstream does: elements that wait are let go, and `onDrop` is not told of them.
    /// - Cancels upstream when the consumer is cancelled or lets its iterator go.
    /// - Owns its task: the consumer sees a failure, the end or a cancellation only once it has ended.
    ///
    /// A consumer that pulls asks for one element at a time. `flatMap(maxConcurrent:_:)` on the buffer itself asks for
    /// as many as it can work on, at once.
    ///
    /// ```swift
    /// for try await reading in readings.buffer(size: 100, prefetch: .byRequest, whenFull: .dropOldest) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - size: how many elements may wait, 0 or more.
    ///   - prefetch: how upstream is asked for elements.
    ///   - whenFull: what happens to an element that finds the buffer full.
    ///   - onDrop: told of each element that overflowed and was discarded, one after the other, in the order in which
    ///     they were; before upstream is asked for another. It holds upstream up for as long as it takes.
    @inlinable public func buffer(
        size: Int,
        prefetch: BufferPrefetch,
        whenFull: BufferOverflow<Failure>,
        onDrop: @escaping @Sendable (Element) -> Void = { _ in }
    ) -> BufferSequence<Self, Failure> {
        BufferSequence(
            self, size: size, prefetch: prefetch, whenFull: whenFull, onDrop: onDrop, failureOfBase: { $0 })
    }

    /// Keeps up to `size` elements of a source that cannot fail, and fails itself when it overflows.
    ///
    /// It does as `buffer(size:prefetch:whenFull:onDrop:)` for sources that fail as the buffer does.
    @inlinable public func buffer<Overflowed: Error>(
        size: Int,
        prefetch: BufferPrefetch,
        whenFull: BufferOverflow<Overflowed>,
        onDrop: @escaping @Sendable (Element) -> Void = { _ in }
    ) -> BufferSequence<Self, Overflowed> where Failure == Never {
        BufferSequence(
            self, size: size, prefetch: prefetch, whenFull: whenFull, onDrop: onDrop, failureOfBase: impossible)
    }
}
