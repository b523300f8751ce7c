import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// Messages that are there: where they are, what they carry, what they wait for and what they gave.
struct Messages: Sendable {
    let store: PenstockStore
    let time: any TimeSource
    private var lookup: Lookup { Lookup(store: store) }

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues/:queue/messages", use: list)
        v1.get("queues/:queue/dead-groups", use: deadGroups)
        v1.get("messages/:sequence", use: show)
        v1.get("messages/:sequence/payload", use: payload)
        v1.get("messages/:sequence/why", use: why)
        v1.get("messages/:sequence/result", use: result)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try context.queue(for: .read)
        let parameters = try QueryParameters(request, known: Self.listParameters)
        let (end, limit) = try parameters.end()
        let (now, withAttempts) = (time.now, try parameters.flag("attempts"))
        let page = try await store.storage.messages(
            MessageQuery(
                queue: queue, group: parameters.text("group"), matching: try Self.filter(parameters),
                states: try parameters.value("state", Self.states), after: try parameters.sequence("after"),
                preceding: try parameters.sequence("preceding"), since: try parameters.time("since", now: now),
                before: try parameters.time("before", now: now), end: end, limit: limit,
                withPayload: try parameters.flag("payload"), withAttempts: withAttempts))
        return .page(
            "messages", page.map { $0.json(withAttempts: withAttempts) }, next: page.next.map { .integer($0.rawValue) })
    }

    private static let listParameters: Set<String> = [
        "state", "group", "key", "header", "payloadContains", "errorContains", "after", "preceding", "since", "before",
        "last", "limit", "payload", "attempts",
    ]

    private static func filter(_ parameters: QueryParameters) throws(Problem) -> MessageFilter {
        var filter = MessageFilter(
            uniqueKey: parameters.text("key"), payloadContains: parameters.text("payloadContains"),
            errorContains: parameters.text("errorContains"))
        if let header = parameters.text("header") {
            guard let end = header.firstIndex(of: "=") else {
                throw Problem.invalid("'header' is a header of the message, such as header=lang=de.")
            }
            filter.headers[String(header[..<end])] = String(header[header.index(after: end)...])
        }
        return filter
    }

    /// The dead letters of a queue, put together by their errors.
    @Sendable private func deadGroups(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["preceding"])
        let queue = try context.queue(for: .read)
        let page = try await store.storage.deadGroups(
            DeadGroupQuery(queue: queue, preceding: try parameters.sequence("preceding")))
        return .json(
            .object([
                "groups": .array(page.groups.map(\.json)), "lookedAt": .integer(page.lookedAt),
                "next": .optional(page.next) { .integer($0.rawValue) },
            ]))
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let sequence = try context.parameters.sequence()
        let record = try await lookup.message(
            sequence, context.principal, .read, withPayload: true, withAttempts: true)
        let journal = try await store.storage.journal(of: sequence)
        let bytes = journal.steps.reduce(record.payloadBytes + (journal.result?.count ?? 0)) { $0 + $1.result.count }
        if bytes <= ResponseBody.partBytes { return .json(record.json(with: journal)) }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var parts = JSONParts(of: record.json(with: journal), partBytes: ResponseBody.partBytes)
                while let part = parts.next() { try await writer.write(ByteBuffer(bytes: part)) }
                try await writer.write(ByteBuffer(string: "\n"))
                try await writer.finish(nil)
            })
    }

    @Sendable private func payload(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let record = try await lookup.message(
            try context.parameters.sequence(), context.principal, .read, withPayload: true)
        return Response(
            status: .ok,
            headers: [
                .contentType: Self.safeType(record.headers["content-type"]), .contentDisposition: "attachment",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: record.payload ?? [])))
    }

    @Sendable private func why(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read)
        let sequence = try context.parameters.sequence()
        let reason = try await store.waitReason(of: sequence)
        try context.principal.require(.read, reason.message.queue, ofMessage: sequence)
        return .json(try await context.principal.told(reason, by: store.storage).json)
    }

    /// What a message gave, once it has ended: 200 when it is done, 202 when it goes on, 409 when it ended in another way.
    @Sendable private func result(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["wait"])
        let wait = try parameters.duration("wait", in: Bounds.waitRange) ?? .zero
        let sequence = try context.parameters.sequence()
        let record = try await lookup.message(sequence, context.principal, .read)
        // What has ended is there at the first look.
        let patience = record.state.isFinished ? Bounds.waitRange.upperBound : wait
        if patience == .zero { return Self.goesOn(record) }
        let queue = store.queueNotLookedUp(record.queue)
        // It only looks, so nothing is lost when it is cut short.
        let end = try await context.wait(atMost: patience, time) {
            try await queue.result(of: sequence, as: [UInt8].self)
        }
        try context.requireStill(.read, [record.queue])
        guard case .happened(let result) = end else {
            return Self.goesOn(try await lookup.message(sequence, context.principal, .read))
        }
        return .json(
            .object([
                .init(key: "sequence", value: .integer(sequence.rawValue)),
                .init(key: "state", value: .string(MessageState.done.rawValue)),
                .result(result),
            ]))
    }

    private static func goesOn(_ record: MessageRecord) -> Response {
        .json(
            .object([
                "sequence": .integer(record.sequence.rawValue), "state": .string(record.state.rawValue),
            ]), status: .accepted)
    }

    /// States, with commas between them.
    static func states(_ text: String) throws(PenstockError) -> Set<MessageState> {
        var states: Set<MessageState> = []
        for word in text.split(separator: ",") {
            guard let state = MessageState(rawValue: String(word)) else {
                throw PenstockError(
                    .invalidInput,
                    "'\(Escape.text(String(word)))' is no state; the states are "
                        + "\(MessageState.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            states.insert(state)
        }
        return states
    }

    /// The type of a payload in which nothing can run, whatever its producer has called it.
    private static func safeType(_ type: String?) -> String {
        switch type?.typeName {
        case "application/json": "application/json"
        case "application/x-ndjson": "application/x-ndjson"
        case "text/plain": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
