package import PenstockCore

/// Reads the messages of a query page by page, in the order of sequence. A page holds a bounded number of bytes
/// (`Limits.logPageBytesMax`), however large the payloads are.
package struct MessagePages: Sendable {
    private static let pageCountMax = 1000

    private let storage: any MessageStore
    private var query: MessageQuery
    /// The last message of the stretch; `nil`: it has no end.
    private let last: SequenceNumber?
    /// How many messages may still come.
    private var left: Int

    /// Finds where the stretch that `query` asks for begins and ends. Its limit counts only when it takes messages from the
    /// log's end.
    ///
    /// - Parameters:
    ///   - endless: whether to read on into what is accepted from now on.
    ///   - limit: how many messages at most.
    package init(
        _ query: MessageQuery, in storage: any MessageStore, endless: Bool = false, limit: Int = .max
    ) async throws {
        // One look at the log's end says where the stretch ends and, of the last few, where it begins.
        var look = query
        look.end = .last
        look.withPayload = false
        look.withAttempts = false
        if query.end == .first { look.limit = 1 }
        let found = try await storage.messages(look)
        self.storage = storage
        self.query = query
        self.query.end = .first
        if query.end == .last, let first = found.first {
            self.query.after = SequenceNumber(first.sequence.rawValue - 1)
        }
        last = endless ? nil : found.last?.sequence ?? SequenceNumber(0)
        left = limit
    }

    /// The next messages; none when there are none more, or none yet.
    package mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> [MessageRecord] {
        if left <= 0 { return [] }
        if let last, let after = query.after, after >= last { return [] }
        query.limit = min(Self.pageCountMax, left)
        // A short page may be one of large messages. Only an empty one is the end.
        var page = try await storage.messages(query)
        if let last { page.removeAll { $0.sequence > last } }
        if let record = page.last { query.after = record.sequence }
        left -= page.count
        return page
    }
}
