import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Tables that are put in the place of others while stores have them open, as a restore does.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct ReplacedTablesTests {
    private let schema: SharedSchema

    init() async throws { schema = try await SharedSchema() }

    private func replaceTables() throws {
        try schema.server.run("DROP SCHEMA \(schema.schema) CASCADE")
        try SchemaMigrator(ServerAddress(schema.url), busyMax: .seconds(5)).migrate()
        // No copy has anything of the server's life.
        try schema.server.run("SET search_path = \(schema.schema); TRUNCATE penstock_incarnation")
    }

    /// The locks of its sessions stood for the tables that are gone, and others took each message from it as from the dead.
    @Test func whoWorksInTheNewOnesLives() async throws {
        let (store, jobs) = (schema.store, schema.jobs)
        let other = try await PostgresStore.open(url: schema.url)
        #expect(try await other.reclaim() == Reclaimed())
        try replaceTables()

        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let receipts = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .powerLoss)
        let claimed = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))).messages
        #expect(try await other.reclaim() == Reclaimed())
        #expect(claimed.map(\.attempt) == [1])
        #expect(try await store.settle(claimed.map { Settlement($0.lease, .done) }) == [.settled(.done)])
        // Those that were given since the copy was made are not given again.
        #expect(receipts.allSatisfy { $0.sequence.rawValue > 1 << 32 })
        try await other.close()
        try await store.close()
    }

    @Test func whoHearsTheServerIsSeenByOtherMachines() async throws {
        let changes = schema.store.changes
        try schema.server.run("SET search_path = \(schema.schema)")
        try await eventually { try isHeard }
        try replaceTables()
        try await eventually { try isHeard }
        try await schema.store.close()
        withExtendedLifetime(changes) {}
    }

    /// Whether others see that a process hears the server's notifications of the tables that are there now.
    private var isHeard: Bool {
        get throws {
            try schema.server.run(
                "SELECT 1 FROM pg_locks WHERE \(Sessions.isHeld(Sessions.listenerLockClass)) AND objid = 0"
            ).rowCount > 0
        }
    }
}
