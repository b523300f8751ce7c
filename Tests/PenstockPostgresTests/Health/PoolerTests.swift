import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// A pooler in between: one of transactions ruins a queue, one of sessions does not.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(
        if: PostgresServer.programs != nil && Pooler.program != nil, "This machine has no PostgreSQL or no PgBouncer."))
struct PoolerTests {
    @Test(arguments: ["transaction", "session"]) func aPoolerIsFound(_ mode: String) async throws {
        let server = try PostgresServer.shared.get()
        let schema = PostgresServer.newName()
        try await PostgresStore.open(url: server.url(schema: schema)).close()
        let pooler = try Pooler(mode, serverFolder: server.socketFolder)
        let url = pooler.url(schema: schema)
        let address = try ServerAddress(url)
        try await eventually { (try? ServerConnection(address)) != nil }
        let found = try await PostgresStore.inspectHealth(url: url).findings.filter { $0.kind == .pooled }
        #expect(found.count == 1)
        #expect(found.first?.severity == (mode == "session" ? .note : .error))
        #expect(found.first?.message.contains("`pool_mode = session`") == true)
        let direct = try await PostgresStore.inspectHealth(url: server.url(schema: schema)).findings
        #expect(!direct.contains { $0.kind == .pooled })
        withExtendedLifetime(pooler) {}
    }
}
