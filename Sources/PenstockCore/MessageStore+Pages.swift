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

    /// Up to `limit` schedules, by name, that come after `name` and that somebody may see; fewer also when their payloads have more than
    /// ``Limits/logPageBytesMax`` bytes.
    ///
    /// - Returns: also whether there are more.
    package func schedules(
        after name: ScheduleName?, limit: Int, where isShown: @Sendable (ScheduleRecord) -> Bool = { _ in true }
    ) async throws -> (records: [ScheduleRecord], isMore: Bool) {
        var records: [ScheduleRecord] = []
        var bytes = 0
        // One more than is given tells whether that was all. Where few of many are shown, small pages would be many.
        var query = ScheduleQuery(after: name, limit: max(min(limit, Limits.rowsMax - 1) + 1, schedulePageMin))
        while case let page = try await schedules(page: query), let last = page.last {
            var pageBytes = 0
            for record in page {
                pageBytes += record.schedule.message.payload.count
                guard isShown(record) else { continue }
                if records.count == limit || bytes > Limits.logPageBytesMax { return (records, true) }
                records.append(record)
                bytes += record.schedule.message.payload.count
            }
            // A page that had room for more was the last one.
            if page.count < query.limit, pageBytes <= Limits.logPageBytesMax { break }
            query.after = last.name
        }
        return (records, false)
    }
}

/// How many schedules are read at once at least.
private let schedulePageMin = 100
