import PenstockCore

extension MessageStore {
    /// The end of a queue's log: its last `count` messages, or as many fewer as have room on one page.
    ///
    /// A page of the log that large payloads have filled has the older ones of the last messages. Whoever looks at the end wants the
    /// newest, so fewer are asked for until the last one is among them.
    func logEnd(of queue: QueueName, count: Int) async throws -> LogPage {
        var count = count
        while true {
            let page = try await log(LogQuery(queue: queue, .last(count), limit: count))
            if page.isAtEnd || count <= 1 { return page }
            count /= 2
        }
    }
}
