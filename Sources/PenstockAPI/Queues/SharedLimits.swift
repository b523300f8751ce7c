import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/limits`: limits that queues share. They belong to no one queue.
struct SharedLimits: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("limits", use: list)
        v1.act("limits/:limit", method: .put, use: put)
        v1.act("limits/:limit", method: .delete, use: remove)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read, nil)
        return .json(.object(["limits": .array(try await store.limits().map(\.json))]))
    }

    @Sendable private func put(_ request: Request, _ context: ServerContext) async throws {
        let name = try operated(request, context)
        let count = try await request.json(Count.self, as: "The limit").count
        try await store.storage.setLimit(name, to: count)
    }

    @Sendable private func remove(_ request: Request, _ context: ServerContext) async throws {
        try await store.storage.setLimit(try operated(request, context), to: nil)
    }

    private func operated(_ request: Request, _ context: ServerContext) throws -> LimitName {
        try request.refuseParameters()
        try context.principal.require(.operate, nil)
        return try LimitName(try context.parameters.name("limit"))
    }

    private struct Count: Decodable {
        var count: Int

        init(from decoder: any Decoder) throws {
            let members = try Members(decoder, ["count"], of: "A limit")
            count = try members.required("count")
        }
    }
}
