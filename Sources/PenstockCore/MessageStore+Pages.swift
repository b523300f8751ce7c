extension MessageStore {
    /// Hands what a query matches to `body`, page by page, up to the query's limit: a page ends early where its messages carry much. From
    /// the log's end on, each page comes before the one before it.
    package func eachPage(
        of query: MessageQuery, isolation: isolated (any Actor)? = #isolation,
        _ body: (MessagePage) async throws -> Void
    ) async throws {
        var query = query
        var next: SequenceNumber?
        repeat {
            let page = try await messages(query)
            try await body(page)
            next = page.next
            query.limit -= page.count
            if query.end == .last { query.preceding = next } else { query.after = next }
        } while next != nil && query.limit > 0
    }
}
