import Penstock
import PenstockConformance
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Synchronization

@testable import PenstockClient

/// The harness of stores at servers: one file, and for each process a store, a server on it and a client of that.
final class RemoteHarness: StoreHarness {
    private struct Place {
        let base: SQLiteStore
        let server: TestServer
        let client: RemoteStore
    }

    let time = ManualTime()
    private let folder = TemporaryFolder()
    private let random = SeededRandom(seed: 1)
    private let worker: WorkerName?
    private let places = Mutex<[Place]>([])

    /// - Parameter worker: what clients are called; `nil`: what they claim is the server's.
    init(worker: WorkerName?) {
        self.worker = worker
    }

    func open() async throws -> any MessageStore { try await open(afterStep: nil) }

    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await open(afterStep: .some(afterStep))
    }

    var hasSteps: Bool { true }

    private func open(afterStep: (@Sendable () async throws -> Void)?) async throws -> any MessageStore {
        var options = SQLiteStore.Options(time: time, random: random)
        options.afterStep = afterStep
        let path = folder.file("queue.db")
        let base = try await SQLiteStore.open(path: path, options: options)
        // What the rules say of time nobody else may do for them.
        let server = try await TestServer.start(
            PenstockStore(base, options: .init(time: time, random: random)), keepsUp: false)
        let client = try await RemoteStore.open(server.url, token: nil, worker: worker, time: time)
        places.withLock { $0.append(Place(base: base, server: server, client: client)) }
        return client
    }

    /// Kills the server's process; its client is not used again.
    func crash(_ store: any MessageStore) async throws {
        guard let place = places.withLock({ $0.first { $0.client === store as AnyObject } }) else { return }
        await place.base.crash()
    }

    /// Ends all servers.
    func end() async {
        for place in places.withLock({ $0 }) {
            try? await place.client.close()
            await place.server.stop()
            try? await place.base.close()
        }
    }
}
