internal import PenstockCore

extension Queue {
    /// The queue's log: every message that was accepted and that retention has left, in the order of acceptance.
    /// Reading changes nothing.
    ///
    /// - Without `follow` it ends with the last message that was there when the reading began.
    /// - With `follow` it goes on with every message as it is accepted, and never ends by itself.
    /// - A message is given once, as it is when it is read. One that is in none of `states` then is passed over for good.
    /// - Throws `CancellationError` when the task is cancelled, and what the store throws.
    ///
    /// - Parameters:
    ///   - first: from this message on.
    ///   - since: only messages accepted at that moment or later.
    ///   - last: only the last ones, up to this many, and what follows; 1 to `Limits.rowsMax`. Another value makes the
    ///     iterator throw `invalidInput`.
    ///   - states: only messages in one of these states; `nil`: in any.
    ///   - follow: whether to go on with what is accepted from now on.
    public func log(
        from first: SequenceNumber? = nil,
        since: Timestamp? = nil,
        last: Int? = nil,
        states: Set<MessageState>? = nil,
        follow: Bool = false
    ) -> LogSequence<Element> {
        let query = MessageQuery(
            queue: name, states: states, after: first.map { SequenceNumber(max($0.rawValue, 1) - 1) }, since: since,
            end: last == nil ? .first : .last, limit: last ?? 1, withPayload: true, withAttempts: true)
        return LogSequence(queue: self, query: query, follow: follow)
    }
}

/// One message of a log.
public struct LogEntry<Element: Sendable>: Sendable {
    /// What the store knows of it, its payload's bytes included.
    public let record: MessageRecord

    let codec: QueueCodec<Element>

    /// What was enqueued.
    ///
    /// - Throws: `PenstockError` with code `undecodable` when the payload cannot be turned into an element.
    public func payload() throws -> Element {
        try codec.decode(record.payload ?? [], record.headers, of: record.sequence)
    }
}

/// A queue's log. Made by ``Queue/log(from:since:last:states:follow:)``, whose description holds for it.
public struct LogSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// What the store throws, or `CancellationError`.
    public typealias Failure = any Error

    let queue: Queue<Element>
    let query: MessageQuery
    let follow: Bool

    /// Begins a reading. It asks the store for nothing before the first `next()`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(log: self)
    }

    /// One reading.
    public struct Iterator: AsyncIteratorProtocol {
        let log: LogSequence
        private var pages: MessagePages?
        private var page: ArraySlice<MessageRecord> = []
        private var move = MoveWatch()

        init(log: LogSequence) {
            self.log = log
        }

        /// The next message, once there is one; `nil` after the last one, unless the reading follows.
        ///
        /// - Throws: what the store throws; `storeMoved` when the queues have gone to another store; `CancellationError` when the task is cancelled.
        public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> LogEntry<Element>? {
            while true {
                try Task.checkCancellation()
                if let record = page.popFirst() { return LogEntry(record: record, codec: log.queue.codec) }
                // The token comes before the look, so that a ring in between is not lost.
                let token = log.follow ? log.queue.storage.changes.token(for: log.queue.name) : nil
                var pages =
                    if let begun = self.pages { begun } else {
                        try await MessagePages(log.query, in: log.queue.storage, endless: log.follow)
                    }
                page = try await pages.next()[...]
                self.pages = pages
                if !page.isEmpty {
                    move.foundNews()
                } else {
                    guard let token else { return nil }
                    guard try await move.mayWait(in: log.queue.name, log.queue.storage) else { continue }
                    try await log.queue.handle.waitForChange(of: log.queue.name, after: token)
                }
            }
        }
    }
}

@available(*, unavailable)
extension LogSequence.Iterator: Sendable {}
