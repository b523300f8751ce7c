public import PenstockCore

/// What goes with an element into a queue, beside its payload.
///
/// ```swift
/// try await mails.enqueue(mail, options: .init(priority: 5, due: .after(.seconds(60))))
/// ```
public struct EnqueueOptions: Hashable, Sendable {
    /// Names and values that travel with the message.
    public var headers: [String: String]
    /// Higher priorities are claimed first. Within `Limits.priorityRange`.
    public var priority: Int
    /// When the message may first be claimed.
    public var due: Due
    /// How many attempts are allowed; `nil`: as many as the queue's policy says.
    public var attemptsMax: Int?
    /// Its key, if at most one message with it may wait or run.
    public var uniqueKey: UniqueKey?

    /// Makes options: no headers, priority 0, due at once, attempts as the queue's policy says, no key.
    public init(
        headers: [String: String] = [:],
        priority: Int = 0,
        due: Due = .now,
        attemptsMax: Int? = nil,
        uniqueKey: UniqueKey? = nil
    ) {
        self.headers = headers
        self.priority = priority
        self.due = due
        self.attemptsMax = attemptsMax
        self.uniqueKey = uniqueKey
    }
}

extension Queue {
    func message(_ element: Element, _ options: EnqueueOptions) throws -> NewMessage {
        NewMessage(
            payload: try codec.encode(element), headers: options.headers, priority: options.priority, due: options.due,
            attemptsMax: options.attemptsMax, uniqueKey: options.uniqueKey)
    }
}
