import Penstock
import PenstockCore
import PenstockFormats
import PenstockSQLite
import PenstockTestKit
import Testing

@testable import PenstockClient

/// A server that comes back with another store, in which a client's numbers are those of other messages.
@Suite(.timeLimit(.minutes(5))) struct OpenedStoreTests {
    private let folder = TemporaryFolder()
    private let jobs = QueueName(stored: "jobs")

    private func serving(_ file: String, isReadOnly: Bool = false) async throws -> TestServer {
        let path = folder.file(file)
        let store =
            isReadOnly
            ? PenstockStore(try await SQLiteReader.open(path: path)) : try await PenstockStore.open(path: path)
        return try await TestServer.start(store, at: .unix(path: folder.file("s")), isReadOnly: isReadOnly)
    }

    private func stop(_ server: TestServer) async throws {
        await server.stop()
        try await server.store.close()
    }

    private func client(of server: TestServer) async throws -> RemoteStore {
        try await RemoteStore.open(server.url, token: nil, worker: WorkerName("mill:1"))
    }

    @Test func nothingIsDoneInAnotherStore() async throws {
        let first = try await serving("first.db")
        let client = try await client(of: first)
        try await client.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let receipts = try await client.enqueue([NewMessage(payload: [1])], to: jobs, durability: .powerLoss)
        let number = try #require(receipts.first).sequence
        #expect(try await client.storeID() == first.store.storage.storeID())
        #expect(try await client.storeID() != nil)
        try await stop(first)

        let second = try await serving("second.db")
        try await second.store.queue("jobs", of: String.self).enqueue("second")
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await client.messages(MessageQuery(sequences: [number])) },
            { _ = try await client.expectEnd(of: number) },
            { _ = try await client.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))) },
            { _ = try await client.enqueue([NewMessage(payload: [3])], to: jobs, durability: .powerLoss) },
        ]
        for call in calls {
            let error = await #expect(throws: PenstockError.self) { try await call() }
            #expect(error?.code == .fileReplaced)
            #expect(error?.message.contains("another store now than the one that was opened") == true)
        }
        #expect(try await second.store.storage.status(of: nil).queues.map(\.depths.ready) == [1])
        let newcomer = try await self.client(of: second)
        #expect(try await newcomer.messages(MessageQuery()).count == 1)
        try await newcomer.close()
        try await client.close()
        try await stop(second)
    }

    /// A server may know what its store is called although it may not give it a name, and a file that was never asked has none.
    @Test func aStoreThatIsOnlyReadIsToldFromAnother() async throws {
        try await stop(try await serving("named.db"))
        var server = try await serving("named.db", isReadOnly: true)
        var client = try await client(of: server)
        #expect(try await client.storeID() == nil)
        _ = try await client.status(of: nil)
        try await client.close()
        try await stop(server)

        server = try await serving("named.db")
        client = try await self.client(of: server)
        let id = try await client.storeID()
        #expect(id != nil)
        try await stop(server)
        server = try await serving("named.db", isReadOnly: true)
        _ = try await client.status(of: nil)
        #expect(try await server.store.storage.storeID() == id)
        try await client.close()
        try await stop(server)
    }
}
