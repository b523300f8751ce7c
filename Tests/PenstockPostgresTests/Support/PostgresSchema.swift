import Foundation
import PenstockCore
import PenstockTestKit

@testable import PenstockPostgres

/// A schema of a test's own in the tests' server, which goes with it, and the stores in it: each counts as a process.
final class PostgresSchema: Sendable {
    let url: String
    private let address: ServerAddress

    init() throws {
        url = try PostgresServer.shared.get().url(schema: PostgresServer.newSchema())
        address = try ServerAddress(url)
    }

    deinit {
        // The next test has a schema of its own, with this one or without it; and the thread that is here may be one of the pool's.
        Thread.detachNewThread { [address] in
            guard let server = try? ServerConnection(address) else { return }
            _ = try? server.run("SET client_min_messages = warning; DROP SCHEMA IF EXISTS \(address.schema) CASCADE")
        }
    }

    func crash(_ store: any MessageStore) async throws {
        guard let lock = await (store as? PostgresStore)?.crash() else { return }
        // The server lets go of a session a moment after its socket is closed.
        let server = try Sessions.connect(to: address, busyMax: .seconds(30))
        try server.run("SELECT pg_advisory_xact_lock(\(Sessions.lockClass), \(lock))")
    }
}

/// The engine of tests that are written for none: `PENSTOCK_TEST_ENGINE=PenstockPostgresTests.PostgresEngine` has them run on PostgreSQL.
final class PostgresEngine: TestEngine {
    private let schema: PostgresSchema
    private let time: any TimeSource
    private let random: any RandomSource

    init(time: any TimeSource, random: any RandomSource) throws {
        schema = try PostgresSchema()
        self.time = time
        self.random = random
    }

    func open() async throws -> any MessageStore {
        try await PostgresStore.open(
            url: schema.url, options: .init(time: time is SystemTime ? nil : time, random: random))
    }

    func crash(_ store: any MessageStore) async throws { try await schema.crash(store) }
}
