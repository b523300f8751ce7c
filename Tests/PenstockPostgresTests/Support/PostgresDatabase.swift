import Foundation
import PenstockCore
import PenstockTestKit

@testable import PenstockPostgres

/// A database of a test's own in the tests' server, which goes with it, and the stores in it: each counts as a process.
///
/// It is a copy of one that has the schema: to make the schema anew for each test would take a third of the time of all of them.
final class PostgresDatabase: Sendable {
    let url: String
    private let name: String
    private let server: ServerAddress
    private let address: ServerAddress

    private static let template = Result {
        let server = try PostgresServer.shared.get()
        try ServerConnection(ServerAddress(server.url())).run("CREATE DATABASE template")
        try SchemaMigrator(ServerAddress(server.url(database: "template")), busyMax: .seconds(30)).migrate()
    }

    init() throws {
        try Self.template.get()
        let server = try PostgresServer.shared.get()
        name = PostgresServer.newName()
        self.server = try ServerAddress(server.url())
        url = server.url(database: name)
        address = try ServerAddress(url)
        try ServerConnection(self.server).run("CREATE DATABASE \(name) TEMPLATE template STRATEGY = FILE_COPY")
    }

    deinit {
        // The next test has a database of its own, with this one or without it; and the thread that is here may be one of the pool's.
        Thread.detachNewThread { [server, name] in
            _ = try? ServerConnection(server).run("DROP DATABASE \(name) WITH (FORCE)")
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
    private let database: PostgresDatabase
    private let time: any TimeSource
    private let random: any RandomSource

    init(time: any TimeSource, random: any RandomSource) throws {
        database = try PostgresDatabase()
        self.time = time
        self.random = random
    }

    func open() async throws -> any MessageStore {
        try await PostgresStore.open(
            url: database.url, options: .init(time: time is SystemTime ? nil : time, random: random))
    }

    func crash(_ store: any MessageStore) async throws { try await database.crash(store) }
}
