import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What `penstock doctor` finds of a server that has settings of its own, other databases, slots and casts.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct OwnServerHealthTests {
    private let servers: FaultyServers
    private let node: FaultyServers.Node

    init() async throws {
        servers = try FaultyServers()
        node = servers.node("a")
        try await servers.makePrimary(node, settings: ["max_prepared_transactions = 2", "wal_level = logical"])
        try await PostgresStore.open(url: node.address).close()
    }

    private func findings(_ bounds: HealthBounds, database: String = "postgres") async throws -> [HealthFinding] {
        try await PostgresStore.inspectHealth(url: address(of: database), bounds: bounds).findings
    }

    private func address(of database: String) -> String {
        node.address.replacing("@/postgres?", with: "@/\(database)?")
    }

    @Test func theWriterLockOfAnotherDatabaseIsNotThisOne() async throws {
        try await servers.ask(node, "CREATE DATABASE copy TEMPLATE postgres")
        let sitter = try ServerConnection(ServerAddress(address(of: "copy")))
        try sitter.run("SET search_path = penstock; BEGIN; SELECT penstock_write_lock()")
        var bounds = HealthBounds()
        bounds.writerHeld = .zero
        #expect(try await findings(bounds).isEmpty)
        #expect(try await findings(bounds, database: "copy").map(\.kind) == [.writerHeld])
        try sitter.run("ROLLBACK")
    }

    @Test func aPreparedTransactionWithTheRightToWriteIsNamed() async throws {
        let server = try ServerConnection(ServerAddress(node.address))
        for statement in [
            "SET search_path = penstock", "BEGIN", "SELECT penstock_write_lock()", "PREPARE TRANSACTION 'held'",
        ] {
            try server.run(statement)
        }
        var bounds = HealthBounds()
        bounds.writerHeld = .zero
        for _ in 0..<2 {
            let found = try await findings(bounds)
            #expect(found.map(\.kind) == [.writerHeld])
            #expect(found.first?.message.contains("`ROLLBACK PREPARED 'held'`") == true)
            // It outlives the server.
            try await servers.stop(node)
            try await servers.start(node)
        }
        try await servers.ask(node, "ROLLBACK PREPARED 'held'")
        #expect(try await findings(bounds).isEmpty)
    }

    /// Nothing that was deleted since can be removed, and no session is there to be ended.
    @Test func aPreparedTransactionThatHoldsVacuumBackIsNamed() async throws {
        try await servers.ask(node, "CREATE DATABASE copy TEMPLATE postgres")
        let server = try ServerConnection(ServerAddress(node.address))
        for statement in ["BEGIN", "SELECT txid_current()", "PREPARE TRANSACTION 'forgotten'"] {
            try server.run(statement)
        }
        var bounds = HealthBounds()
        bounds.vacuumHeld = .zero
        func named(_ database: String) async throws -> [HealthFinding] {
            try await findings(bounds, database: database).filter { $0.message.contains("'forgotten'") }
        }
        let found = try await named("postgres")
        #expect(found.map(\.kind) == [.vacuumHeld] && found.map(\.severity) == [.warning])
        #expect(found.first?.message.contains("`COMMIT PREPARED 'forgotten'`") == true)
        #expect(try await named("copy").isEmpty)
        try await servers.ask(node, "ROLLBACK PREPARED 'forgotten'")
        #expect(try await named("postgres").isEmpty)
    }

    /// Each program has the right to write for a moment, and a transaction open.
    @Test func whatIsHeldForAMomentIsNoFinding() async throws {
        let (writer, reader) = (
            try ServerConnection(ServerAddress(node.address)), try ServerConnection(ServerAddress(node.address))
        )
        try writer.run("SET search_path = penstock; BEGIN; SELECT penstock_write_lock()")
        try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        var bounds = HealthBounds()
        bounds.writerHeld = .seconds(600)
        let found = try await findings(bounds)
        #expect(found.isEmpty, "\(found.map(\.message))")
        (bounds.writerHeld, bounds.vacuumHeld) = (.zero, .zero)
        let all = try await findings(bounds).map(\.kind)
        #expect(all.contains(.writerHeld) && all.contains(.vacuumHeld))
        withExtendedLifetime((writer, reader)) {}
    }

    /// A role that does not see of which kind the sessions of others are counts none that takes no connection of clients.
    @Test func aSubscriberTakesNoConnection() async throws {
        for statement in [
            "CREATE ROLE mill LOGIN", "GRANT USAGE ON SCHEMA penstock TO mill",
            "GRANT SELECT ON ALL TABLES IN SCHEMA penstock TO mill",
        ] {
            try await servers.ask(node, statement)
        }
        let url = node.address.replacing("//penstock@", with: "//mill@")
        func count() async throws -> Int? { try await PostgresStore.inspectHealth(url: url).server?.connectionCount }
        let subscriber = try ServerConnection(ServerAddress(node.address + "&replication=database", access: .readOnly))
        // Sessions that have ended may be seen for a moment.
        try await eventually { try await count() == 1 }
        let other = try ServerConnection(ServerAddress(node.address))
        try await eventually { try await count() == 2 }
        withExtendedLifetime((subscriber, other)) {}
    }

    /// A logical slot keeps rows of the catalog alone. With an implicit cast the server does not know how a number is joined to a text.
    @Test func aLogicalSlotAndACastAreNoFindings() async throws {
        try await servers.ask(node, "SELECT pg_create_logical_replication_slot('changes', 'pgoutput')")
        try await servers.ask(node, "CREATE CAST (BIGINT AS TEXT) WITH INOUT AS IMPLICIT")
        try await servers.ask(node, "CREATE TABLE later ()")
        var bounds = HealthBounds()
        bounds.agesHeld = 0
        let found = try await findings(bounds)
        #expect(found.isEmpty, "\(found.map(\.message))")
    }
}
