import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues/{queue}/groups`: the groups of a queue.
struct Groups: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("queues/:queue/groups", use: list)
        v1.act("queues/:queue/groups/:group/pause") { try await change($0, $1) { .pauseGroup($0) } }
        v1.act("queues/:queue/groups/:group/resume") { try await change($0, $1) { .resumeGroup($0) } }
        v1.act("queues/:queue/groups/:group/weight", method: .put, use: setWeight)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["after", "limit"])
        let queue = try context.queue(for: .read)
        let groups = try await store.storage.groups(
            GroupQuery(
                queue: queue, after: parameters.text("after"),
                limit: try parameters.count("limit", in: Bounds.pageRange) ?? 100))
        return .page("groups", groups.map { $0.json(of: queue) }, next: groups.last.map { .string($0.key) })
    }

    @Sendable private func setWeight(_ request: Request, _ context: ServerContext) async throws {
        // Nothing is read of somebody who may not do it anyway.
        _ = try context.queue(for: .operate)
        let weight = try await request.json(Weight.self, as: "The weight").weight
        try await change(request, context) { .setGroupWeight($0, weight) }
    }

    private func change(
        _ request: Request, _ context: ServerContext, _ change: (String) -> QueueChange
    ) async throws {
        try request.refuseParameters()
        let queue = try context.queue(for: .operate)
        try await store.storage.configure(queue, change(try context.parameters.text("group")))
    }

    private struct Weight: Decodable {
        var weight: Int

        init(from decoder: any Decoder) throws {
            let members = try Members(decoder, ["weight"], of: "A weight")
            weight = try members.required("weight")
        }
    }
}
