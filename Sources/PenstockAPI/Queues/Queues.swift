import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues` and `/v1/workers`: the queues, their numbers, and the workers.
struct Queues: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues", use: list)
        v1.get("queues/:queue", use: show)
        v1.get("workers", use: workers)
    }

    /// All queues that the caller may look at.
    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read)
        let status = try await store.storage.status(of: nil)
        let queues = status.queues.filter { context.principal.may(.read, $0.name) }
        return .json(JSONValue.object(["queues": .array(queues.map(\.json))]).adding(status.move))
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let queue = try context.queue(for: .read)
        return .json(try await store.status(of: queue).json)
    }

    @Sendable private func workers(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read, nil)
        return .json(.object(["workers": .array(try await store.workers().map(\.json))]))
    }
}

extension PenstockStore {
    /// A queue's policy and numbers.
    ///
    /// - Throws: `PenstockError` with code `unknownQueue`.
    func status(of queue: QueueName) async throws -> QueueStatus {
        try await storage.status(of: queue).queue(queue)
    }
}
