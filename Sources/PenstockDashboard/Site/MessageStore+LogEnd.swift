import PenstockCore

extension MessageStore {
    /// The end of a queue's log, or of what precedes a message of it: the last `count` messages, or as many fewer as have room on one
    /// page.
    ///
    /// A page of the log that large payloads have filled has the older ones of the last messages. People who look at the end want the
    /// newest, so fewer are asked for until the last one is among them.
    ///
    /// - Returns: the page, and whether older ones were left out for their room.
    func logEnd(
        of queue: QueueName, preceding: SequenceNumber?, count countMax: Int
    ) async throws -> (LogPage, isCut: Bool) {
        var count = countMax
        while true {
            let start: LogQuery.Start = preceding.map { .preceding($0, count) } ?? .last(count)
            let page = try await log(LogQuery(queue: queue, start, limit: count))
            if page.isAtEnd || count <= 1 { return (page, count < countMax) }
            count /= 2
        }
    }
}
