import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// The sessions of one process at a server.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct SessionsTests {
    /// Those of a process of its own.
    private func process(_ address: ServerAddress) -> Sessions {
        Sessions(address, busyMax: .seconds(60))
    }

    /// A session that goes on may hold what all want, and the process that gave it up cannot tell it so: its next one ends it.
    @Test func oneThatHasNotAnsweredIsEndedByTheNext() async throws {
        let schema = try await ClosedSchema()
        let own = process(schema.address)
        let silent = try own.connect()
        // Another process may have got its number since.
        let foreign = try process(schema.address).connect()
        let lock = "SELECT pg_advisory_lock(\(schema.server.processID))"
        try schema.server.run(lock)
        for server in [silent, foreign] {
            server.deadline = ContinuousClock.now + .milliseconds(50)
            #expect(throws: ServerError.self) { try server.run(lock) }
            own.abandon(server)
        }
        func isThere(_ server: ServerConnection) throws -> Bool {
            try schema.server.run("SELECT 1 FROM pg_stat_activity WHERE pid = \(server.processID)").rowCount == 1
        }
        let next = try own.connect()
        try await eventually { try !isThere(silent) }
        #expect(try isThere(foreign) && isThere(next))
        withExtendedLifetime((silent, foreign, next)) {}
    }
}
