import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What plain SQL and a migration look at before they change something, while another session writes.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LockedLookTests {
    private let shared: SharedSchema
    private let schema: String

    init() async throws {
        shared = try await SharedSchema()
        schema = shared.schema
    }

    /// A session that has the writer lock.
    private func writer(at address: ServerAddress) throws -> ServerConnection {
        let writer = try ServerConnection(address)
        try writer.run(
            "SET search_path = \(ServerConnection.quoted(name: address.schema)); BEGIN; SELECT penstock_write_lock()")
        return writer
    }

    @Test(arguments: [
        "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('new', 'jobs', '@hourly', 'x')",
        "UPDATE penstock_schedules SET spec = '@weekly' WHERE name = 'old'",
        "DELETE FROM penstock_schedules WHERE name = 'old'",
    ])
    func aScheduleBehindTheClosingOfItsStoreIsRefused(statement: String) async throws {
        let search = "SET search_path = \(ServerConnection.quoted(name: schema)); "
        try shared.server.run(
            search + "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('old', 'jobs', '@daily', 'x')"
        )
        let writer = try writer(at: try ServerAddress(shared.url))
        let url = shared.url
        // On a thread of its own: tasks that wait for a lock would keep all others from running.
        let changing = Task {
            try await SystemThread.run { try ServerConnection(try ServerAddress(url)).run(search + statement).rowCount }
        }
        try await eventually { try writer.hasWaiter }
        try writer.run("UPDATE penstock_state SET moving = 'copying'; COMMIT")
        let error = await #expect(throws: ServerError.self) { try await changing.value }
        #expect(error?.message.contains("have moved to another one") == true)
        try await shared.store.close()
    }

    /// A step changes the tables that a writer is about to use.
    @Test func aMigrationWaitsForTheWriter() async throws {
        let address = try ServerAddress(try PostgresServer.newURL())
        try SchemaMigrator(address, busyMax: .seconds(20)).migrate(to: 13)
        let writer = try writer(at: address)
        let migrating = Task {
            try await SystemThread.run { try SchemaMigrator(address, busyMax: .seconds(20)).migrate() }
        }
        try await eventually { try writer.hasWaiter }
        try writer.run("UPDATE penstock_state SET last_sequence = 1; UPDATE penstock_depth SET ready = 0; COMMIT")
        #expect(try await migrating.value.count == SchemaMigrator.newest - 13)
        try await shared.store.close()
    }

    @Test func tenYearsAreTheBoundOfADelay() async throws {
        _ = try await shared.store.enqueue([NewMessage(payload: [1])], to: shared.jobs, durability: .processCrash)
        let claim = try await shared.store.claim(ClaimRequest(queue: shared.jobs, limit: 1, lease: .seconds(30)))
        let lease = try #require(claim.messages.first?.lease)
        func retry(_ delay: String) throws {
            try shared.server.run(
                "SELECT \(ServerConnection.quoted(name: schema)).penstock_retry(\(lease.sequence), \(lease.token.rawValue), 'no', "
                    + "'\(delay)')")
        }
        for delay in ["10 years", "3650 days 1 second", "-1 second"] {
            let error = #expect(throws: ServerError.self) { try retry(delay) }
            #expect(error?.message.contains("delay must be NULL or 0 to 3650 days") == true, "\(delay)")
        }
        try retry("3650 days")
        try await shared.store.close()
    }
}
