/// A message for a queue that is not enqueued yet: it goes in line as another message is done, both or neither.
///
/// It has no unique key. Where a message with its key was in line already, what the other one gave would be lost.
public struct Draft: Hashable, Sendable {
    /// Where it goes.
    public var queue: QueueName
    /// What goes there.
    public var message: NewMessage

    /// Makes a draft.
    ///
    /// - Parameters:
    ///   - message: what goes in line.
    ///   - queue: where it goes.
    public init(_ message: NewMessage, to queue: QueueName) {
        self.message = message
        self.queue = queue
    }

    /// Throws ``PenstockError`` with code `invalidInput` when one of `drafts` is out of range, or all of them together.
    ///
    /// - Parameters:
    ///   - drafts: what goes in line with one verdict.
    ///   - now: the moment of that, by which due times are bounded.
    public static func validate(_ drafts: [Draft], now: Timestamp) throws(PenstockError) {
        if drafts.isEmpty { return }
        try NewMessage.validate(batch: drafts.map(\.message), now: now)
        for draft in drafts { try draft.refuseUniqueKey() }
    }

    package func refuseUniqueKey() throws(PenstockError) {
        try require(
            message.uniqueKey == nil,
            "A message that is enqueued as another is done has no unique key: where one with its key is in line, what the "
                + "other gave would be lost.")
    }
}

extension [Draft] {
    /// The messages, in their order, by runs for one queue.
    package var byQueue: [(queue: QueueName, messages: [NewMessage])] {
        reduce(into: []) { runs, draft in
            if runs.last?.queue == draft.queue {
                runs[runs.count - 1].messages.append(draft.message)
            } else {
                runs.append((draft.queue, [draft.message]))
            }
        }
    }
}
