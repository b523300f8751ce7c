/// A sequence whose elements are sent by hand, and that keeps none of them.
///
/// - An element goes to each subscriber that has asked for one by then, and is lost to the others: to a subscriber that
///   is still at work on an earlier one, and to one that comes later. A ``BufferSequence`` behind the subject keeps
///   what would be lost.
/// - A subscription begins with `makeAsyncIterator()`, and ends with the end of the subject, with cancellation, or when
///   the iterator is let go. A newcomer after the end is told of that end.
/// - A subscriber gets the elements in the order of their sending, each once.
/// - Elements may be sent, and subscriptions may begin and end, from any thread at any time.
/// - A subject that is let go finishes, as nobody can send by it any more.
///
/// ```swift
/// let keys = AsyncPassthroughSubject<Character, Never>()
/// keys.send("a")
/// ```
public final class AsyncPassthroughSubject<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    @usableFromInline let storage = ReplayStorage<Element, Failure>(bufferSize: 0, backlog: .none)

    /// Makes a subject that nobody has subscribed to.
    @inlinable public init() {}

    @inlinable deinit {
        finish()
    }

    /// How many subscriptions there are.
    @inlinable public var subscriberCount: Int { storage.subscriberCount }

    /// Sends an element to all subscribers that have asked for one. After the end it goes to nobody.
    ///
    /// - Returns: how many subscribers it went to. When it is fewer than subscribe, the others have lost it.
    @discardableResult
    @inlinable public func send(_ element: Element) -> Int {
        guard case .sent(let takerCount, _) = storage.offer(element) else { return 0 }
        return takerCount
    }

    /// Ends the subject. Subscribers first get what went to them. Only the first end counts.
    @inlinable public func finish() {
        storage.complete(.finished)
    }

    /// Ends the subject with a failure. Subscribers first get what went to them. Only the first end counts.
    @inlinable public func fail(_ failure: Failure) {
        storage.complete(.failed(failure))
    }

    /// Subscribes. Nothing is asked for before the first `next()`.
    @inlinable public func makeAsyncIterator() -> ReplayIterator<Element, Failure> {
        ReplayIterator(storage)
    }
}
