internal import PenstockCore

/// Which messages a worker takes up, by their kinds, and how long the others wait before a worker looks at them again.
struct KnownKinds: Sendable {
    /// Their bytes: Swift takes texts for equal that Unicode writes in two ways. `nil`: all.
    private let kinds: Set<[UInt8]>?
    /// Kinds that were told in the log. Of more than so many it tells no more.
    private var told: Set<String> = []
    private static let toldMax = 100

    /// A message waits at least this long, so that nobody claims it again and again.
    static let waitMin = Duration.milliseconds(100)
    /// A worker that knows its kind has it after this at the latest.
    static let waitMax = Duration.seconds(60)

    init(_ kinds: Set<String>?) {
        self.kinds = kinds.map { Set($0.map { Array($0.utf8) }) }
    }

    func contains(_ message: ClaimedMessage) -> Bool {
        guard let kinds else { return true }
        return message.headers[KindName.header].map { kinds.contains(Array($0.utf8)) } ?? false
    }

    /// What is said of a message that this worker does not take up. Each time it has waited, it waits as long again: it is looked at
    /// soon where a worker that knows its kind is about to start, and seldom where none comes.
    static func verdict(on message: ClaimedMessage, at now: Timestamp) -> Verdict {
        .suspend(until: now + min(max(now - message.enqueuedAt, waitMin), waitMax))
    }

    /// Whether the kind of a message is one of which nothing was told yet.
    mutating func isNews(_ message: ClaimedMessage) -> Bool {
        told.count < Self.toldMax && told.insert(message.headers[KindName.header] ?? "").inserted
    }
}
