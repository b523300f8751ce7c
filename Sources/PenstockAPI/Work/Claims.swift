import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/queues/{queue}/claims` and `POST /v1/claims`: messages for workers of other machines and languages.
///
/// What they hold is theirs: it outlives this server, and any other server on the file settles it.
struct Claims: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("queues/:queue/claims") { try await claim($0, $1, from: $1.parameters.queue()) }
        v1.post("claims") { try await claim($0, $1, from: nil) }
    }

    private func claim(
        _ request: Request, _ context: ServerContext, from queue: QueueName?
    ) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.consume)
        if let queue { try context.principal.require(.consume, queue) }
        let claim = try await request.json(ClaimEntry.self, as: "The claim").claim(of: queue, by: context.principal)
        let isRaw = request.accepts("application/octet-stream")
        if isRaw { try require(claim.limit == 1, "A claim of application/octet-stream has the limit 1.") }
        let claimed = try await claim.run(store, context, time)
        let response = ClaimResponse(store: store, claimed: claimed, loop: context.eventLoop)
        return isRaw ? response.raw : response.json()
    }
}
