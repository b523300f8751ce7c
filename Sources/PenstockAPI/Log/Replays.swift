import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/queues/{queue}/replay`: history back in line, as new messages that name their origin.
struct Replays: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    /// How long one may take, with its waits for room.
    private static let timeMax = Duration.seconds(600)

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("queues/:queue/replay", use: replay)
    }

    @Sendable private func replay(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let queue = try context.queue(for: .operate)
        let entry = try await request.json(ReplayEntry.self, as: "The replay")
        let query = try entry.query(of: queue, now: time.now)
        let (into, isDryRun) = (entry.into, entry.isDryRun)
        if let into {
            try context.principal.require(.operate, into)
            // Said now, and not when the first message is found to have nowhere to go.
            _ = try await store.status(of: into)
        }
        let count = try await context.replay(
            query, into: into, dryRun: isDryRun, in: store, atMost: Self.timeMax, time)
        return .json(.object([isDryRun ? "wouldReplay" : "replayed": .integer(count)]))
    }
}

/// Which stretch of a log, and where to, as somebody has written it.
private struct ReplayEntry: Decodable {
    private var from: Int64?
    private var since: String?
    private var before: String?
    private var last: Int?
    private var states: Set<MessageState>?
    var into: QueueName?
    var isDryRun: Bool

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder, ["from", "since", "before", "last", "states", "into", "dryRun"], of: "A replay")
        (from, since, before) = (
            try members.value("from"), try members.value("since"), try members.value("before")
        )
        (last, states) = (try members.count("last", in: 1...Limits.rowsMax), try members.value("states"))
        (into, isDryRun) = (try members.value("into"), try members.value("dryRun") ?? false)
        try require(
            from != nil || since != nil || before != nil || last != nil || states != nil,
            "Say which messages: with \"from\", \"since\", \"before\", \"last\" or \"states\". For all that are left: \"from\": 1."
        )
        try require(from.map { $0 > 0 } ?? true, "\"from\" is a sequence number, a whole number from 1.")
    }

    func query(of queue: QueueName, now: Timestamp) throws(PenstockError) -> MessageQuery {
        var query = MessageQuery(
            queue: queue, states: states ?? Set(MessageState.allCases.filter(\.isFinished)),
            after: from.map { SequenceNumber($0 - 1) }, end: last == nil ? .first : .last, limit: last ?? 1)
        if let since { query.since = try TimeText.parse(since, now: now) }
        if let before { query.before = try TimeText.parse(before, now: now) }
        return query
    }
}
