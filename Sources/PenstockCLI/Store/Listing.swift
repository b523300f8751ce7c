import Penstock
import PenstockFormats

/// Shows the messages of a query as a table or as lines of JSON.
struct Listing {
    var query: MessageQuery
    var isJSON: Bool
    var table: Table
    var row: (MessageRecord) -> [String]

    /// Reads the messages and writes them, and says so when there are more than the query's limit.
    @MainActor
    func show(from store: PenstockStore) async throws {
        let output = Output()
        var query = query
        query.withPayload = true
        let limit = query.limit
        // One more than is shown tells whether that was all.
        if query.end == .first { query.limit += 1 }
        var pages = try await MessagePages(query, in: store.storage, limit: query.limit)
        var table = table
        var count = 0
        while case let records = try await pages.next(), !records.isEmpty {
            for record in records.prefix(limit - count) {
                if isJSON {
                    try output.line(record.json(withAttempts: query.withAttempts))
                } else {
                    table.add(row(record))
                }
            }
            count += records.count
        }
        if !isJSON { try output.table(table) }
        try output.flush()
        if count > limit {
            // It takes no more.
            let way = limit < Limits.rowsMax ? "--limit or --from" : "--from"
            ErrorOutput.say("There are more than these \(limit); use \(way) to see others.")
        }
    }
}
