import PenstockCore

/// Reads messages of the log with what the line knows of them.
enum MessageReader {
    /// Answers one query, in the order of sequence.
    static func messages(
        _ query: MessageQuery, _ connection: Connection, _ time: any TimeSource
    ) throws -> MessagePage {
        let clocks = (boot: time.boot, now: time.now)
        var candidates = try MessageCandidates(query, connection)
        var bytes = PageBytes()
        var page = MessagePage()
        var last: SequenceNumber?
        var isFull = false
        // Those nearest the end that is asked for come first, as the page may become full.
        while !isFull, let run = try candidates.next(atMost: query.limit - page.records.count) {
            let rows = try MessageRows(of: run.passing, query, candidates.queues, at: clocks, connection)
            for sequence in run.sequences {
                if let row = rows.found[sequence] {
                    // Whether it is taken is known before its payload and its attempts are read.
                    isFull = !bytes.admits(row.carriedBytes(query))
                    if isFull { break }
                    page.records.append(row.record)
                }
                last = SequenceNumber(sequence)
            }
        }
        if try isFull || candidates.hasMore() { page.next = last }
        if query.withAttempts { try MessageRows.readAttempts(of: &page.records, connection) }
        if query.withPayload { try MessageRows.readPayloads(of: &page.records, connection) }
        if query.end == .last { page.records.reverse() }
        return page
    }

    /// The sequence numbers of messages that match a query, in their order, and the last message that was looked at; `nil` when
    /// there are no more. Rows of the line without a message in the log are among them when nothing has to be looked for.
    static func sequences(_ query: MessageQuery, _ connection: Connection) throws -> (
        found: [Int64], last: SequenceNumber?
    ) {
        var candidates = try MessageCandidates(query, connection)
        var found: [Int64] = []
        var last: SequenceNumber?
        while let run = try candidates.next(atMost: query.limit - found.count) {
            found +=
                candidates.areByState
                ? run.passing : try MessageRows.matching(run.passing, query, candidates.queues, connection)
            last = run.sequences.last.map { SequenceNumber($0) }
        }
        return (found, try candidates.hasMore() ? last : nil)
    }
}
