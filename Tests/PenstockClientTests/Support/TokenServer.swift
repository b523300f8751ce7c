import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit

@testable import PenstockClient

/// A server with two queues, and tokens for some of what may be done with them.
enum TokenServer {
    static let mail = QueueName(stored: "mail")
    static let other = QueueName(stored: "other")

    /// Calls `body` with the store of a server, and what opens it there with the token of that name.
    ///
    /// - Parameter rights: tokens that the server knows besides, by their names: scopes, and queues if they are not for all.
    static func run(
        _ storage: any MessageStore = InMemoryStore(), alsoKnowing rights: [String: String] = [:],
        _ body: (_ store: PenstockStore, _ open: (String) async throws -> RemoteStore) async throws -> Void
    ) async throws {
        let store = PenstockStore(storage)
        for queue in [mail, other] { _ = try await store.queue(queue.text) }
        let others = rights.map { "\($0) \(secret($0)) \($1)" }.joined(separator: "\n")
        let tokens = try Tokens(
            """
            producer \(secret("producer")) produce mail
            consumer \(secret("consumer")) consume mail
            reader \(secret("reader")) read
            operator \(secret("operator")) operate other
            onlooker \(secret("onlooker")) read mail
            team \(secret("team")) read,produce,consume,operate mail
            everything \(secret("everything")) read,produce,consume,operate
            \(others)
            """)
        let server = try await TestServer.start(store, tokens: tokens)
        try await body(store) { name in
            try await RemoteStore.open(server.url, token: secret(name), worker: WorkerName("mill:1"))
        }
        await server.stop()
    }

    static func secret(_ name: String) -> String { "secret-of-the-\(name)-0000" }
}
