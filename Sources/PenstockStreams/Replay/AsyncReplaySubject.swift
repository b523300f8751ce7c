/// A sequence whose elements are sent by hand, and that remembers the last of them and its end.
///
/// - A new subscriber gets the remembered elements, then those that are sent from then on, then the end: in the order
///   of their sending, and none twice.
/// - A subscription begins with `makeAsyncIterator()`, and ends with the end of the subject, with cancellation, or when
///   the iterator is let go. After the end, a newcomer gets the remembered elements and that same end.
/// - What a subscriber has not asked for yet waits for it, within the bound that ``ReplayBacklog`` names.
/// - Elements may be sent, and subscriptions may begin and end, from any thread at any time.
/// - A subject that is let go finishes, as nobody can send by it any more.
///
/// ```swift
/// let temperatures = AsyncReplaySubject<Double, Never>(bufferSize: 1, backlog: .dropOldest(at: 16))
/// temperatures.offer(21.5)
/// ```
public final class AsyncReplaySubject<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    @usableFromInline let storage: ReplayStorage<Element, Failure>

    /// Makes a subject that nothing was sent by.
    ///
    /// - Parameters:
    ///   - bufferSize: how many elements are remembered for newcomers, 0 or more.
    ///   - backlog: how many elements may wait for a slow subscriber, and what happens then.
    ///   - onDrop: told of each element that a subscriber lost, once for each of these.
    @inlinable public init(
        bufferSize: Int,
        backlog: ReplayBacklog<Failure> = .suspendSender(at: 256),
        onDrop: @escaping @Sendable (Element) -> Void = { _ in }
    ) {
        storage = ReplayStorage(bufferSize: bufferSize, backlog: backlog, onDrop: onDrop)
    }

    @inlinable deinit {
        finish()
    }

    /// How many subscriptions there are.
    @inlinable public var subscriberCount: Int { storage.subscriberCount }

    /// Sends an element to all subscribers. With a backlog of `suspendSender` it waits until all have room; senders
    /// that wait go on in the order of their coming. After the end it does nothing.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before the element was sent. Then nobody gets it.
    @inlinable public func send(_ element: Element) async throws(CancellationError) {
        try await storage.send(element)
    }

    /// Sends an element to all subscribers, unless it would have to wait for one of them.
    ///
    /// - Returns: whether it was sent. It is not when a sender has to wait for room, and after the end.
    @discardableResult
    @inlinable public func offer(_ element: Element) -> Bool {
        if case .sent = storage.offer(element) { true } else { false }
    }

    /// Ends the subject, when those who wait to send have sent. Only the first end counts.
    @inlinable public func finish() {
        storage.complete(.finished)
    }

    /// Ends the subject with a failure, when those who wait to send have sent. Only the first end counts.
    @inlinable public func fail(_ failure: Failure) {
        storage.complete(.failed(failure))
    }

    /// Subscribes: what is remembered now and what is sent from now on comes out of the iterator.
    @inlinable public func makeAsyncIterator() -> ReplayIterator<Element, Failure> {
        ReplayIterator(storage)
    }
}
