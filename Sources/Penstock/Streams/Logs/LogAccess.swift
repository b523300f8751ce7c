internal import Logging
internal import PenstockCore

/// A queue's log as values are read from it.
struct LogAccess<Value: Sendable>: Sendable {
    /// Messages in one page.
    static var pageCountMax: Int { 512 }

    let name: QueueName
    let handle: StoreHandle
    let decode: @Sendable (LogRecord) -> Result<Value, PenstockError>
    /// The cursor whose place is the log's end for good, if it can have one.
    var ending: CursorName?

    var storage: any MessageStore { handle.storage }

    /// The place behind everything that there is.
    func end() async throws -> LogPlace {
        LogBeginning(try await storage.log(LogQuery(queue: name, .last(0)))).end
    }

    /// What there is behind `place`, a page at most, and the cursor that ends the log when there is one.
    func read(from place: LogPlace) async throws -> (stretch: LogStretch<Value>, end: CursorRecord?) {
        let page = try await storage.log(
            LogQuery(queue: name, .after(place.sequence), limit: Self.pageCountMax, cursor: ending))
        return (page.stretch(from: place, decode: decode), page.cursor)
    }
}

extension Queue {
    /// The queue's log as values, and the reason where a payload is none.
    func access(ending: CursorName? = nil) -> LogAccess<Element> {
        LogAccess(
            name: name, handle: handle,
            decode: { [codec] record in
                Result { () throws(PenstockError) in
                    try codec.decode(record.payload, record.headers, of: record.sequence)
                }
            },
            ending: ending)
    }
}
