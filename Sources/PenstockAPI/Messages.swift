import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues/{queue}/messages`: messages on their way in.
struct Messages: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("queues/:queue/messages", use: enqueue)
    }

    /// Enqueues the body as one message.
    @Sendable private func enqueue(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try context.parameters.queue()
        try context.principal.require(.produce, queue)
        let body = try await request.wholeBody(bytesMax: Limits.payloadBytesMax)
        let receipts = try await store.storage.enqueue(
            [NewMessage(payload: Array(body.readableBytesView))], to: queue, durability: .powerLoss)
        guard let receipt = receipts.first else {
            throw Problem(PenstockError(.queueFull, "The queue '\(queue)' is full."))
        }
        return .json(receipt.json(queue: queue), status: .created)
    }
}
