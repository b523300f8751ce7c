/// One subscription to a replay.
@usableFromInline
struct ReplaySubscription<Element: Sendable, Failure: Error>: StreamStorage {
    @usableFromInline let replay: ReplayStorage<Element, Failure>
    @usableFromInline let name: Int

    @inlinable init(to replay: ReplayStorage<Element, Failure>) {
        self.replay = replay
        name = replay.subscribe()
    }

    @inlinable func take() -> Element? {
        guard case .give(let element) = replay.come(name, nil) else { return nil }
        return element
    }

    @inlinable func next(_ consumer: StreamConsumer<Element, Failure>) {
        if let word = replay.come(name, consumer) { replay.tell(consumer, word) }
    }

    @inlinable func letGo() { replay.leave(name) }

    @inlinable func request(_ count: Int) { replay.request(count, by: name) }
}

/// One subscription to a subject, or to a sequence that is shared. Letting it go ends it.
public struct ReplayIterator<Element: Sendable, Failure: Error>: AsyncIteratorProtocol, DemandedIterator,
    ClosableIterator
{
    @usableFromInline let hold: IteratorHold<ReplaySubscription<Element, Failure>>

    @inlinable init(_ storage: ReplayStorage<Element, Failure>) {
        hold = IteratorHold(ReplaySubscription(to: storage))
    }

    @usableFromInline package var request: @Sendable (Int) -> Void {
        hold.storage.request
    }

    /// The next element, or `nil` after the end and when the task is cancelled.
    ///
    /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the subscription.
    @inlinable public mutating func next(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) -> Element? {
        try await hold.next(isolation: isolation)
    }

    @inlinable package func close() async { await hold.storage.close() }
}

@available(*, unavailable)
extension ReplayIterator: Sendable {}
