import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// A log on its way to a client, page by page: as fast as the client reads, and no more than a page is in memory.
struct LogFeed: Sendable {
    enum Format {
        /// A JSON object on each line.
        case lines
        /// Server-sent events (WHATWG HTML): the identity of each is the sequence number, so that a browser that connects anew
        /// goes on after the last one that it has had.
        case events
    }

    /// Between two words to a client to whom there is nothing to say: proxies end what is silent.
    static let silenceMax = Duration.seconds(15)
    /// Bytes that are written at once, but for the message that exceeds them.
    private static let partBytes = 128 * 1024
    private static let pageCountMax = 1000

    let store: PenstockStore
    let time: any TimeSource
    let context: ServerContext
    let queue: QueueName
    let start: LogQuery.Start
    /// How many messages at most; `nil`: all.
    let limit: Int?
    let follows: Bool
    let format: Format

    var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: format == .events ? "text/event-stream" : "application/x-ndjson", .proxyBuffering: "no",
            ],
            body: ResponseBody { writer in
                try await write(to: &writer)
                try await writer.finish(nil)
            })
    }

    private func write(to writer: inout any ResponseBodyWriter) async throws {
        var (start, left) = (start, limit ?? .max)
        // Without following, what is accepted after the beginning is not part of it.
        var end: SequenceNumber?
        if format == .events { try await writer.write(Self.comment) }
        var silence = Patience(Self.silenceMax, time)
        while left > 0 {
            // A token that is taken back, or is for other queues now, reads nothing more, and its log does not end as a whole one does.
            try context.requireStill(.read, [queue])
            // The token comes before the look, so that a ring in between is not lost.
            let token = store.storage.changes.token(for: queue)
            let query = LogQuery(queue: queue, start, limit: min(left, Self.pageCountMax))
            let page = try await store.storage.log(query)
            end = end ?? page.end
            let records = follows ? page.records : page.records.filter { $0.sequence <= end ?? page.end }
            left -= records.count
            try await write(records, to: &writer)
            if !records.isEmpty { silence = Patience(Self.silenceMax, time) }
            if let last = page.records.last {
                start = .after(last.sequence)
            } else if case .last = start {
                start = .after(page.end)
            }
            if left == 0 || !follows && (page.isAtEnd || records.count < page.records.count) { return }
            guard page.isAtEnd else { continue }
            if silence.left == nil {
                if format == .events { try await writer.write(Self.comment) }
                silence = Patience(Self.silenceMax, time)
            }
            if try await !waitForMore(after: token, atMost: silence.left) { return }
        }
    }

    private func write(_ records: [LogRecord], to writer: inout any ResponseBodyWriter) async throws {
        var bytes: [UInt8] = []
        for record in records {
            if format == .events { bytes += "id: \(record.sequence)\ndata: ".utf8 }
            record.json(of: queue).write(to: &bytes)
            bytes += (format == .events ? "\n\n" : "\n").utf8
            if bytes.count >= Self.partBytes {
                try await writer.write(ByteBuffer(bytes: bytes))
                bytes = []
            }
        }
        if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
    }

    /// Waits until there may be more, or is something to say, or the token has changed. What nobody rings for is found by a look.
    ///
    /// - Returns: whether there is somebody who wants it.
    private func waitForMore(after token: Wakeups.Token, atMost limit: Duration?) async throws -> Bool {
        let changes = store.storage.changes
        let pause = min(limit ?? .zero, store.storage.lookInterval)
        let end = try await context.wait(atMost: pause, time, endsWithToken: true) { [queue] in
            try await changes.wait(for: queue, after: token)
        }
        switch end {
        case .happened, .timeIsUp: return true
        case .clientGone: throw CancellationError()
        case .serverStops: return false
        }
    }

    private static let comment = ByteBuffer(string: ":\n\n")
}

extension LogRecord {
    /// The record as JSON, in the members that a message has elsewhere.
    func json(of queue: QueueName) -> JSONValue {
        .object([
            .init(key: "sequence", value: .integer(sequence.rawValue)),
            .init(key: "queue", value: .string(queue.text)),
            .init(key: "enqueuedAt", value: .time(enqueuedAt)),
            .init(key: "headers", value: .texts(headers)),
            .payload(payload),
        ])
    }
}
