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
        self.storage = storage
        self.query = query
        self.query.end = .first
        left = limit
        last = endless ? nil : try await Self.lastInLog(of: query.queue, storage)
        if query.end == .last {
            let found = try await Self.beginning(of: query, storage)
            self.query.after = found.map { SequenceNumber($0.rawValue - 1) } ?? query.after
        }
    }

    /// The last message of the log, of a queue or of all; 0 when there is none.
    private static func lastInLog(of queue: QueueName?, _ storage: any MessageStore) async throws -> SequenceNumber {
        let look = MessageQuery(queue: queue, end: .last, limit: 1)
        return try await storage.messages(look).first?.sequence ?? SequenceNumber(0)
    }

    /// The first one of the last messages that match, as many as the query's limit; `nil` when none does.
    private static func beginning(
        of query: MessageQuery, _ storage: any MessageStore
    ) async throws -> SequenceNumber? {
        var look = query
        look.withPayload = false
        look.withAttempts = false
        var first: SequenceNumber?
        try await storage.eachPage(of: look) { first = $0.first?.sequence ?? first }
        return first
    }

    /// The next messages; none when there are none more, or none yet.
    package mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> [MessageRecord] {
        while left > 0 {
            if let last, let after = query.after, after >= last { return [] }
            query.limit = min(Self.pageCountMax, left)
            // What is looked at and not in one of the states is passed over for good.
            let looked = last == nil && query.states != nil ? try await Self.lastInLog(of: query.queue, storage) : nil
            let page = try await storage.messages(query)
            var records = page.records
            if let last { records.removeAll { $0.sequence > last } }
            query.after = page.next ?? [query.after, looked, page.last?.sequence].compactMap(\.self).max()
            left -= records.count
            // A page may be empty though more of the log is to be looked at.
            if !records.isEmpty || page.next == nil { return records }
        }
        return []
    }
}
