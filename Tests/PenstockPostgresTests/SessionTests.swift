import Penstock
import PenstockCore
import Testing

@testable import PenstockPostgres

/// How long a session holds what it has when its process stands still or is gone.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct SessionTests {
    private static let settings = """
        SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
            current_setting('client_connection_check_interval', true) AS look
        """

    /// The server ends one that stands still in a transaction, which may have the writer lock, and looks whether the process lives of one
    /// that waits.
    @Test func theServerEndsASessionWhoseProcessIsStoppedOrGone() async throws {
        let schema = try await SharedSchema()
        let server = try Sessions.connect(to: try ServerAddress(schema.url), busyMax: .seconds(60))
        let store = try server.run(Self.settings).rows
        let application = try await PenstockStore(schema.store).transaction { try $0.query(Self.settings) }
        for row in store + application {
            #expect(try row.text("idle") == "10s")
            if server.serverVersion >= 140_000 { #expect(try row.text("look") == "500ms") }
        }
        #expect(store.count + application.count == 2)
        try await schema.store.close()
    }
}
