import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `GET /v1/queues/{queue}/log`: a queue's log as lines of JSON, or as events for a browser.
struct Logs: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues/:queue/log", use: log)
    }

    @Sendable private func log(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try context.queue(for: .read)
        let parameters = try QueryParameters(request, known: ["after", "last", "limit", "follow"])
        let isEvents = request.accepts("text/event-stream")
        let feed = LogFeed(
            store: store, time: time, context: context, queue: queue,
            start: try Self.start(request, parameters, isEvents: isEvents),
            limit: try parameters.count("limit", in: 1...Int.max), follows: try parameters.flag("follow"),
            format: isEvents ? .events : .lines)
        // What is wrong with the request is said before the answer has begun.
        _ = try await store.storage.log(LogQuery(queue: queue, .last(0), limit: 1))
        return feed.response
    }

    /// A browser that connects anew says which event it has had last, and then the rest of its request is old.
    private static func start(
        _ request: Request, _ parameters: QueryParameters, isEvents: Bool
    ) throws(Problem) -> LogQuery.Start {
        let last = try parameters.count("last", in: 0...Limits.rowsMax)
        let after = try parameters.sequence("after")
        if last != nil, after != nil { throw Problem.invalid("'after' and 'last' both say where to begin; give one.") }
        if isEvents, let text = request.headers[.lastEventID] {
            guard let number = Int64(text), number >= 0 else {
                throw Problem.invalid("Last-Event-ID is the sequence number of a message.")
            }
            return .after(SequenceNumber(number))
        }
        return last.map { .last($0) } ?? .after(after ?? SequenceNumber(0))
    }
}

extension HTTPField.Name {
    fileprivate static let lastEventID = HTTPField.Name(known: "Last-Event-ID")
}
