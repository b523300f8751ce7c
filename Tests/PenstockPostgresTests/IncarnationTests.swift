import PenstockCore
import PenstockProcesses
import PenstockSQL
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

    /// All locks went with the sessions of the life before: the first process to come back would take the others for dead, and their
    /// messages be worked twice.
    @Test func workersOfTheLifeBeforeHaveTenSecondsToComeBack() async throws {
        let server = try await ClosedSchema().server
        let (locks, connection) = (SessionLocks(), PostgresConnection(server))
        func areHeld() throws -> [Bool] {
            let sights = try locks.look(connection)
            return ["session-before", "session-since"].map { sights.sight(of: $0).isHeld }
        }
        let columns = "(lock_name, name, process_id, boot_id, started_at)"
        try server.run(
            """
            INSERT INTO penstock_worker \(columns) VALUES ('session-before', 'a', 1, 'server', 0);
            UPDATE penstock_incarnation SET started_at = started_at - INTERVAL '1 hour'
            """)
        try server.run("BEGIN; SELECT penstock_write_lock(); SELECT penstock_begin_incarnation(); COMMIT")
        try server.run("INSERT INTO penstock_worker \(columns) VALUES ('session-since', 'b', 2, 'server', 0)")
        #expect(try areHeld() == [true, false])
        try server.run("UPDATE penstock_incarnation SET begun_at = begun_at - 10000000")
        #expect(try areHeld() == [false, false])
    }

    /// For what the COMMIT of a transaction with a plain INSERT would wait.
    private func commitOfAnInsert(_ server: ServerConnection) throws -> String? {
        try server.run("BEGIN; INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
        let setting = try server.run("SHOW synchronous_commit").text(0, 0)
        try server.run("COMMIT")
        return setting
    }
}
