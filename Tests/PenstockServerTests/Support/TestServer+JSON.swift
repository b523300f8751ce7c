import Foundation
import Penstock
import PenstockCore
import PenstockTestKit

extension TestServer {
    /// Makes a request with a body of JSON.
    func send(
        _ method: String, _ path: String, _ body: String = "", headers: [String: String] = [:]
    ) async throws -> TestResponse {
        try await request(method, path, headers: headers, body: body.isEmpty ? nil : Data(body.utf8))
    }

    /// Enqueues a text, and says its number.
    @discardableResult
    func put(_ text: String, in queue: String = "q", headers: [String: String] = [:]) async throws -> Int64 {
        let response = try await send("POST", "/v1/queues/\(queue)/messages", text, headers: headers)
        guard
            let sequence = try response.json()["sequence"] as? Int64
                ?? (response.json()["sequence"] as? Int).map(Int64.init)
        else { throw PenstockError(.invalidInput, "Not enqueued: \(response.text)") }
        return sequence
    }

    /// Claims messages.
    func claim(_ body: String = "{}", from queue: String = "q") async throws -> [[String: Any]] {
        let response = try await send("POST", "/v1/queues/\(queue)/claims", body)
        guard let messages = try response.json()["messages"] as? [[String: Any]] else {
            throw PenstockError(.invalidInput, "Not claimed: \(response.text)")
        }
        return messages
    }

    /// A message as it is shown.
    func show(_ sequence: Int64) async throws -> [String: Any] {
        try await send("GET", "/v1/messages/\(sequence)").json()
    }

    /// What a queue has, by state.
    func depths(_ queue: String = "q") async throws -> [String: Int] {
        try await send("GET", "/v1/queues/\(queue)").json()["depths"] as? [String: Int] ?? [:]
    }

    /// Calls `body` with a server on a file of its own, or on the engine that is named for tests.
    static func onFile(
        queues: [String: QueuePolicy] = ["q": QueuePolicy()],
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let folder = TemporaryFolder()
        let store =
            TestDatabase.isElsewhere
            ? PenstockStore(TestDatabase().open()) : try await PenstockStore.open(path: folder.file("penstock.db"))
        do {
            try await run(store: store, queues: queues, body)
        } catch {
            try? await store.close()
            throw error
        }
        try await store.close()
        withExtendedLifetime(folder) {}
    }

    /// Calls `body` with a server on a store in memory.
    static func inMemory(
        queues: [String: QueuePolicy] = ["q": QueuePolicy()],
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await run(store: PenstockStore(TestDatabase().open()), queues: queues, body)
    }

    private static func run(
        store: PenstockStore, queues: [String: QueuePolicy],
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        for (name, policy) in queues { _ = try await store.queue(name, policy: policy) }
        try await run(store: store, body)
    }
}

extension TestResponse {
    /// The body as lines of JSON.
    func lines() throws -> [[String: Any]] {
        try text.split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
    }

    /// The code of a problem.
    var code: String? { (try? json())?["code"] as? String }
}

extension [String: Any] {
    /// What a settle must show of a claimed message.
    var lease: String { "\"sequence\":\(self["sequence"] ?? 0),\"token\":\"\(self["token"] ?? "")\"" }
}
