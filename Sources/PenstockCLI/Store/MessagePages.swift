import Penstock

/// Reads the messages of a query a few at a time, so that large payloads do not all lie in memory at once.
struct MessagePages {
    private static let pageBytesMax = 4 * 1024 * 1024
    private static let pageCountMax = 500

    private let store: PenstockStore
    private var query: MessageQuery
    private var left: Int
    private var page = 16

    /// - Parameter query: which messages; its limit is how many at most.
    init(_ query: MessageQuery, of store: PenstockStore) async throws {
        self.store = store
        self.query = query
        left = query.limit
        if query.end == .last {
            // Of the last ones, the first must be found before they can be read in order.
            var look = query
            look.withPayload = false
            look.withAttempts = false
            look.limit = min(query.limit, Limits.rowsMax)
            let found = try await store.list(look)
            self.query.after = found.first.map { SequenceNumber($0.sequence.rawValue - 1) } ?? query.after
            self.query.end = .first
            left = found.count
        }
    }

    /// The next messages, in the order of sequence; none at the end.
    mutating func next() async throws -> [MessageRecord] {
        guard left > 0 else { return [] }
        query.limit = min(page, left)
        let records = try await store.list(query)
        // A short page may be one of large messages; only an empty one is the end.
        left -= records.count
        query.after = records.last?.sequence ?? query.after
        let bytes = records.reduce(0) { $0 + $1.payloadBytes }
        page = bytes > Self.pageBytesMax ? max(1, page / 2) : min(Self.pageCountMax, page * 2)
        return records
    }
}
