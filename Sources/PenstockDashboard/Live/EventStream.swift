import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/events`: which queues have changed, as server-sent events, for pages that are open.
struct EventStream {
    let live: Live
    /// Its reader by the tokens of now; `nil`: nobody any more.
    let reader: @Sendable () -> Principal?

    /// Names in one event. Of more the event says only that there are.
    private static let nameCountMax = 50

    /// The stream. It ends when its reader leaves, the reader's token is taken back or is for other things now, or the server stops.
    func response() throws(Problem) -> Response {
        guard let news = live.listen() else {
            throw Problem(
                .serviceUnavailable, code: "busy", "As many pages are told of changes as may be.", retryAfterSeconds: 5)
        }
        let reader = reader
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
            for await item in news {
                guard let principal = reader(), principal.scopes.contains(.read) else { break }
                guard let text = Self.event(item, { principal.may(.read, $0) }) else { continue }
                try await writer.write(ByteBuffer(string: text))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .proxyBuffering: "no"], body: body)
    }

    /// An event as the stream has it; `nil`: it is none for this reader.
    static func event(_ news: Live.News, _ mayRead: (QueueName) -> Bool) -> String? {
        switch news {
        case .tick: return "event: tick\ndata: {}\n\n"
        case .missed: return "event: change\ndata: [\"*\"]\n\n"
        case .changed(let queues):
            let names = queues.filter(mayRead)
            guard !names.isEmpty else { return nil }
            let told = names.count > nameCountMax ? ["*"] : names.map(\.text)
            return "event: change\ndata: \(JSONValue.array(told.map { .string($0) }).text)\n\n"
        }
    }
}
