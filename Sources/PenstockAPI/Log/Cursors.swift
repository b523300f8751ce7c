import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues/{queue}/cursors`: named places in a queue's log, which outlive those that read on from them.
struct Cursors: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues/:queue/cursors", use: list)
        v1.get("queues/:queue/cursors/:cursor", use: show)
        v1.put("queues/:queue/cursors/:cursor", use: put)
        v1.act("queues/:queue/cursors/:cursor", method: .delete, use: remove)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let queue = try context.queue(for: .read)
        return .json(.object(["cursors": .array(try await cursors(of: queue).map(\.json))]))
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let queue = try context.queue(for: .read)
        let name = try CursorName(try context.parameters.name("cursor"))
        guard let cursor = try await cursors(of: queue).first(where: { $0.name == name }) else {
            throw PenstockError(.unknownCursor, "The log of '\(queue)' has no cursor '\(name)'.")
        }
        return .json(cursor.json)
    }

    /// Places a cursor, or moves it forward; it never goes back. The same request again changes nothing, as clients and proxies make a PUT
    /// again by themselves: what was missed is added as the cursor moves, in the same transaction, and not to one that was placed.
    @Sendable private func put(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let queue = try context.parameters.queue()
        let name = try CursorName(try context.parameters.name("cursor"))
        try context.principal.require(name.scope, cursorsOf: queue)
        let entry = try await request.json(CursorEntry.self, as: "The cursor")
        let after = entry.after
        var cursor = try await store.storage.moveCursor(name, of: queue, .place(after: after, note: entry.note))
        if let after, let placed = cursor, placed.sequence < after {
            cursor = try await store.storage.moveCursor(name, of: queue, .advance(to: after, missed: entry.missed))
        }
        guard let cursor else {
            throw PenstockError(.unknownCursor, "The cursor '\(name)' was removed as it was placed.")
        }
        return .json(cursor.json)
    }

    @Sendable private func remove(_ request: Request, _ context: ServerContext) async throws {
        try request.refuseParameters()
        let queue = try context.parameters.queue()
        let name = try CursorName(try context.parameters.name("cursor"))
        try context.principal.require(name.scope, cursorsOf: queue)
        try await store.storage.moveCursor(name, of: queue, .remove)
    }

    private func cursors(of queue: QueueName) async throws -> [CursorRecord] {
        try await store.storage.status(of: queue).cursors.filter { $0.queue == queue }
    }

    private struct CursorEntry: Decodable {
        /// `nil`: the end of the log.
        var after: SequenceNumber?
        var missed: Int
        var note: String?

        init(from decoder: any Decoder) throws {
            let members = try Members(decoder, ["after", "missed", "note"], of: "A cursor")
            after = try (members.value("after") as Int64?).map { SequenceNumber($0) }
            missed = try members.count("missed", in: 0...Int.max) ?? 0
            note = try members.value("note")
            try require(missed == 0 || after != nil, "\"missed\" goes with \"after\".")
        }
    }
}

extension CursorName {
    /// What whoever places, moves or removes the cursor must be allowed. To end a log for all is for those who may add to it.
    var scope: Scope { isOfSettings ? .operate : self == .completion ? .produce : .consume }
}

extension CursorRecord {
    /// The cursor as JSON.
    fileprivate var json: JSONValue {
        .object([
            "queue": .string(queue.text),
            "cursor": .string(name.text),
            "after": .integer(sequence.rawValue),
            "missed": .integer(missed),
            "note": .optional(note) { .string($0) },
            "movedAt": .time(movedAt),
        ])
    }
}
