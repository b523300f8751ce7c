import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// A life of the server begins with numbers of its own, whoever begins it.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct IncarnationTests {
    /// Lost with a crash, a beginning gives the next life the same numbers.
    @Test(arguments: [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
    func whoeverBeginsALifeWaitsForItsCommit(_ asked: String, _ waits: String) async throws {
        let server = try await ClosedSchema().server
        // As a crash leaves it.
        try server.run("TRUNCATE penstock_incarnation; SET synchronous_commit = \(asked)")
        #expect(try commitOfAnInsert(server) == waits)
        // The life has begun, and the session's own setting is back.
        #expect(try commitOfAnInsert(server) == asked)
    }

    /// For what the COMMIT of a transaction with a plain INSERT would wait.
    private func commitOfAnInsert(_ server: ServerConnection) throws -> String? {
        try server.run("BEGIN; INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
        let setting = try server.run("SHOW synchronous_commit").text(0, 0)
        try server.run("COMMIT")
        return setting
    }
}
