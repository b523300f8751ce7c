import PenstockConformance
import PenstockCore
import PenstockTestKit

@testable import PenstockPostgres

/// The harness of the store in PostgreSQL: one schema, and a store for each process.
final class PostgresHarness: StoreHarness {
    let time = ManualTime()
    let url: String
    private let address: ServerAddress
    /// One source for all processes: with one each, of the same seed, they would give the same lease tokens.
    private let random = SeededRandom(seed: 1)

    init() throws {
        url = try PostgresServer.shared.get().url(schema: PostgresServer.newSchema())
        address = try ServerAddress(url)
    }

    deinit {
        // The next test has a schema of its own, with this one or without it.
        guard let server = try? ServerConnection(address) else { return }
        _ = try? server.run("SET client_min_messages = warning; DROP SCHEMA IF EXISTS \(address.schema) CASCADE")
    }

    func open() async throws -> any MessageStore {
        try await openStore()
    }

    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await openStore(afterStep: afterStep)
    }

    func openStore(afterStep: (@Sendable () async throws -> Void)? = nil) async throws -> PostgresStore {
        var options = PostgresStore.Options(time: time, random: random)
        options.afterStep = afterStep
        return try await PostgresStore.open(url: url, options: options)
    }

    func crash(_ store: any MessageStore) async throws {
        guard let lock = await (store as? PostgresStore)?.crash() else { return }
        // The server lets go of a session a moment after its socket is closed.
        let server = try Sessions.connect(to: address, busyMax: .seconds(30))
        try server.run("SELECT pg_advisory_xact_lock(\(Sessions.lockClass), \(lock))")
    }
}
