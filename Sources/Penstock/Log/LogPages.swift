internal import PenstockCore

/// Reads a stretch of the log page by page. What a page holds in memory stays about the same, however
/// large the payloads are: pages become longer or shorter as they come.
struct LogPages: Sendable {
    private static let pageBytesMin = 512 * 1024
    private static let pageBytesMax = 4 * 1024 * 1024
    private static let pageCountMax = 1000

    private let storage: any MessageStore
    private var query: MessageQuery
    /// The last message of the stretch; `nil`: it has no end.
    private let last: SequenceNumber?

    private init(storage: any MessageStore, query: MessageQuery, last: SequenceNumber?) {
        self.storage = storage
        self.query = query
        self.last = last
        self.query.end = .first
        self.query.limit = 8
    }

    /// The messages that `query` asks for. Its limit counts only when it takes them from the log's end.
    ///
    /// - Parameter endless: whether to read on into what is accepted from now on.
    static func of(_ query: MessageQuery, in storage: any MessageStore, endless: Bool) async throws -> LogPages {
        var query = query
        // One look at the log's end says where the stretch ends and, of the last few, where it begins.
        var look = query
        look.end = .last
        look.withPayload = false
        look.withAttempts = false
        if query.end == .first { look.limit = 1 }
        let found = try await storage.messages(look)
        if query.end == .last, let first = found.first {
            query.after = SequenceNumber(first.sequence.rawValue - 1)
        }
        return LogPages(
            storage: storage, query: query, last: endless ? nil : found.last?.sequence ?? SequenceNumber(0))
    }

    /// The next messages, in the order of sequence; none when there are none more, or none yet.
    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> [MessageRecord] {
        if let last, let after = query.after, after >= last { return [] }
        var page = try await storage.messages(query)
        if let last { page.removeAll { $0.sequence > last } }
        if let record = page.last { query.after = record.sequence }

        let bytes = page.reduce(0) { $0 + $1.payloadBytes }
        if bytes > Self.pageBytesMax {
            query.limit = max(1, query.limit / 2)
        } else if bytes < Self.pageBytesMin {
            query.limit = min(Self.pageCountMax, query.limit * 2)
        }
        return page
    }
}
