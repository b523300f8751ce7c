import PenstockCore

/// Reads a queue's log page by page, from the log itself: no look at where each message is in the line.
enum LogReader {
    /// Answers one query. Everything in it is of the snapshot that `connection` reads.
    static func page(_ query: LogQuery, _ connection: Connection) throws -> LogPage {
        guard
            let (id, accepted) = try connection.first(
                readQueue, .text(query.queue.text), read: { ($0.integer(0), $0.integer(1)) })
        else { throw PenstockError.unknown(query.queue) }
        // Readers count with these.
        let end = (try connection.integer(readEnd) ?? 0).clamped(to: StoredRange.counts)
        var (after, before) = (Int64(0), Int64.max)
        var count: Int?
        switch query.start {
        case .after(let sequence): after = sequence.rawValue
        case .last(let wanted): (after, count) = try last(wanted, before: before, of: id, connection) ?? (end, 0)
        case .preceding(let sequence, let wanted):
            before = sequence.rawValue
            (after, count) = try last(wanted, before: before, of: id, connection) ?? (end, 0)
        }
        var records: [LogRecord] = []
        var bound = PageBytes()
        var isAtEnd = true
        var headers = HeaderReader()
        let statement = try connection.statement(selectPage)
        defer { statement.reset() }
        statement.bind(id, at: 1)
        statement.bind(after, at: 2)
        // One more than wanted says whether the page is the last one.
        statement.bind(Int64(query.limit) + 1, at: 3)
        statement.bind(before, at: 4)
        while count != 0, try statement.step() {
            let fields = headers.headers(of: statement, at: 2)
            guard records.count < query.limit, bound.admits(Int(statement.integer(4)) + fields.headerBytes) else {
                isAtEnd = false
                break
            }
            let payload = try statement.bytes(3)
            records.append(
                LogRecord(
                    sequence: SequenceNumber(statement.integer(0)),
                    enqueuedAt: Timestamp(microseconds: statement.integer(1)),
                    headers: fields, payload: payload))
        }
        return LogPage(
            records: records, count: count ?? (isAtEnd ? records.count : nil), isAtEnd: isAtEnd,
            end: SequenceNumber(end), accepted: Int(accepted.clamped(to: StoredRange.counts)),
            cursor: try query.cursor.flatMap { try Cursors.find($0, of: query.queue, id: id, connection) })
    }

    /// After which message the last `wanted` ones come, and how many there are; `nil`: none.
    private static func last(
        _ wanted: Int, before: Int64, of id: Int64, _ connection: Connection
    ) throws -> (after: Int64, count: Int?)? {
        // The index is gone through backwards, and gives its last ones without a look at the log.
        let last = try SequenceSource.log(queueID: id).sequences(
            Stretch(after: 0, preceding: before), .last, limit: wanted, connection)
        return last.last.map { ($0 - 1, last.count) }
    }

    private static let readQueue = Query(
        """
        SELECT queue.id, depth.enqueued_total FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.name = ?1
        """)
    static let readEnd = Query("SELECT last_sequence FROM penstock_state WHERE id = 1")
    private static let selectPage = Query(
        """
        SELECT sequence, enqueued_at, headers, payload, length(payload) FROM penstock_log
        WHERE queue_id = ?1 AND sequence > ?2 AND sequence < ?4 ORDER BY sequence LIMIT ?3
        """,
        // As the deletion of a queue reads its messages: not past those of all other queues.
        server: """
            SELECT sequence, enqueued_at, headers, payload, length(payload) FROM penstock_log
            WHERE (queue_id, sequence) > (?1, ?2) AND (queue_id, sequence) < (?1, ?4) ORDER BY queue_id, sequence LIMIT ?3
            """)
}
