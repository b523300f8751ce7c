import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What is set for sessions: how long one holds what it has when its process stands still or is gone, and what a role sets.
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

    /// What was read in the middle of a transaction may be all that comes for long: its process may be stopped then.
    @Test func theServerKnowsOfATransactionThatItStandsStill() async throws {
        let address = try ServerAddress(PostgresServer.newURL())
        let (server, other) = (
            try Sessions.connect(to: address, busyMax: .seconds(60)),
            try Sessions.connect(to: address, busyMax: .seconds(60))
        )
        func state() throws -> String? {
            try other.run("SELECT state FROM pg_stat_activity WHERE pid = \(server.processID)").text(0, 0)
        }
        try server.send(["BEGIN", "SELECT 1"])
        try server.readPipeline()
        try await eventually { try state() == "idle in transaction" }
        // A statement that fails takes those behind it along, in the next part as well.
        try server.send(["SELECT 1", "SELECT 1 / 0", "SELECT 2"])
        #expect(throws: ServerError.self) { try server.readPipeline() }
        #expect(server.isInTransaction && !server.isLost)
        try server.run("ROLLBACK")
        #expect(try server.run("SELECT 3").text(0, 0) == "3")
    }

    /// A store's sessions are kept for as long as its process lives: by their locks others know that it does.
    @Test func whatIsUsualAtAServerHoldsForNoSessionOfAStore() throws {
        let url = try PostgresServer.newURL()
        let version = try ServerConnection(ServerAddress(url)).serverVersion
        var usual = [
            ("statement_timeout", "20s", "0"), ("bytea_output", "escape", "hex"),
            ("quote_all_identifiers", "on", "off"),
            ("default_transaction_isolation", "serializable", "read committed"),
        ]
        if version >= 140_000 { usual.append(("idle_session_timeout", "20s", "0")) }
        if version >= 170_000 { usual.append(("transaction_timeout", "20s", "0")) }
        let options = usual.map { "-c%20\($0.0)%3D\($0.1)" }.joined(separator: "%20")
        let address = try ServerAddress("\(url)&options=\(options)")
        let plain = try ServerConnection(address)
        let own = try Sessions.connect(to: address, busyMax: .seconds(60))
        for (name, others, ours) in usual {
            #expect(try plain.run("SHOW \(name)").text(0, 0) == others, "\(name)")
            #expect(try own.run("SHOW \(name)").text(0, 0) == ours, "\(name)")
        }
    }
}
