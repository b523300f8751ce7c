import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockAPI
@testable import PenstockHTTP

/// Lines of a body whose connection ends while they go in. Nobody can be told of those that are left.
@Suite(.timeLimit(.minutes(5))) struct UnheardBatchTests {
    @Test func whatNobodyWouldHearOfIsNotEnqueued() async throws {
        let channel = EmbeddedChannel()
        let presence = ClientPresence(of: channel)
        var context = ServerContext(
            source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
        context.principal = .local
        let storage = InterleavedStore(InMemoryStore())
        let store = PenstockStore(storage)
        let queue = try await store.queue("q").name
        let offer = Offer(
            store: store, queue: queue, durability: .processCrash, context: context,
            patience: Patience(.zero, SystemTime()))
        let lines = String(repeating: "{\"payload\":\"x\"}\n", count: 3 * Bounds.batchCountMax)
        let request = Request(
            head: HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/"),
            body: RequestBody(buffer: ByteBuffer(string: lines)))
        storage.afterNext(.enqueue) { _ in presence.close() }
        await #expect(throws: CancellationError.self) {
            _ = try await MessageBatch(offer: offer, idempotencyKey: nil).enqueue(request)
        }
        #expect(try await storage.status(of: queue).queues[0].totals.enqueued == Bounds.batchCountMax)
    }
}
