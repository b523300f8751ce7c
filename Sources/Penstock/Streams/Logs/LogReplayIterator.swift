/// One subscription to a log whose last elements are replayed. Letting it go ends it.
public struct LogReplayIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let cursor: LogCursor<Element>

    init(cursor: LogCursor<Element>) {
        self.cursor = cursor
    }

    /// The next element, or `nil` after the end and when the task is cancelled.
    ///
    /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the subscription.
    /// - Throws: the failure that the log ended with; what the store throws; `PenstockError` with code `undecodable` for a
    ///   payload in the log that is no element.
    public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
        try await cursor.next(isolation: isolation)?.value.get()
    }
}

@available(*, unavailable)
extension LogReplayIterator: Sendable {}
