import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues`: the queues and their numbers.
struct Queues: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues", use: list)
        v1.get("queues/:queue", use: show)
    }

    /// All queues that the caller may look at.
    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let status = try await store.storage.status(of: nil)
        let queues = status.queues.filter { context.principal.may(.read, $0.name) }
        return .json(.object(["queues": .array(queues.map(\.json))]))
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let queue = try context.parameters.queue()
        try context.principal.require(.read, queue)
        let status = try await store.storage.status(of: queue)
        guard let found = status.queues.first else {
            throw Problem(PenstockError(.unknownQueue, "There is no queue '\(queue)'."))
        }
        return .json(found.json)
    }
}
