import PenstockCore
import Testing

@testable import PenstockPostgres

/// What `penstock doctor` finds of a server with standbys.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct StandbyHealthTests {
    private func kinds(_ node: FaultyServers.Node) async throws -> [HealthFinding] {
        try await PostgresStore.inspectHealth(url: node.address).findings
    }

    @Test func standbysAreComparedWithWhatPowerLossSays() async throws {
        let servers = try FaultyServers()
        let (primary, standby) = (servers.node("a"), servers.node("b"))
        try await servers.makePrimary(primary)
        try await PostgresStore.open(url: primary.address).close()
        #expect(try await kinds(primary).isEmpty)
        try await archive(servers, primary)
        try await servers.makeStandby(standby, of: primary)
        while try await servers.ask(primary, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'").isEmpty {
            await Task.yield()
        }
        let alone = try await kinds(primary)
        #expect(alone.map(\.kind) == [.asynchronousStandby])
        #expect(alone[0].severity == .warning && alone[0].message.contains("The standby 'b' is asynchronous"))
        // The standby itself can be looked at as well, and says nothing of workers.
        let there = try await PostgresStore.inspectHealth(url: standby.address)
        #expect(there.server?.isStandby == true)
        #expect(there.findings.isEmpty, "\(there.findings.map(\.message))")
        #expect(there.unchecked == [.deadWorkers, .stuckWorkers, .expiredLeases])

        try await servers.ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'b'")
        try await servers.ask(primary, "SELECT pg_reload_conf()")
        while try await servers.ask(primary, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").isEmpty {
            await Task.yield()
        }
        #expect(try await kinds(primary).isEmpty)
        try await lookAsAnApplication(servers, primary)
        try await servers.stop(standby)
        while try await !servers.ask(primary, "SELECT 1 FROM pg_stat_replication").isEmpty { await Task.yield() }
        let waiting = try await kinds(primary)
        #expect(waiting.map(\.severity) == [.error])
        #expect(waiting.first?.message.contains("none is there") == true)
    }

    /// Whoever only keeps the server's log is no standby.
    private func archive(_ servers: FaultyServers, _ primary: FaultyServers.Node) async throws {
        let folder = primary.socketFolder + "/received"
        try await servers.command("mkdir", folder)
        // It ends with its connection.
        try await servers.command(
            "sh", "-c", #""$0" -h "$1" -U penstock -D "$2" --no-loop > /dev/null 2>&1 &"#,
            try #require(PostgresServer.programs) + "/pg_receivewal", primary.socketFolder, folder)
        let senders = "SELECT pid FROM pg_stat_replication WHERE application_name = 'pg_receivewal'"
        while try await servers.ask(primary, senders).isEmpty { await Task.yield() }
        let found = try await kinds(primary)
        #expect(found.isEmpty, "\(found.map(\.message))")
        try await servers.ask(primary, "SELECT pg_terminate_backend(pid) FROM (\(senders)) AS senders")
        while try await !servers.ask(primary, senders).isEmpty { await Task.yield() }
    }

    /// The role of an application sees that a standby is there, and neither how it stands nor what the sessions of others do. What the
    /// finding says to run is what helps, whatever the role's name is.
    private func lookAsAnApplication(_ servers: FaultyServers, _ primary: FaultyServers.Node) async throws {
        try await servers.ask(
            primary,
            """
            CREATE ROLE "mill-1" LOGIN; GRANT USAGE ON SCHEMA penstock TO "mill-1";
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA penstock TO "mill-1"
            """)
        let other = try ServerConnection(ServerAddress(primary.address))
        let url = primary.address.replacing("//penstock@", with: "//mill-1@")
        let unseen: Set<HealthFinding.Kind> = [.asynchronousStandby, .vacuumHeld, .writerHeld]
        let found = try await PostgresStore.inspectHealth(url: url)
        #expect(found.findings.map(\.kind) == [.unseenSessions], "\(found.findings.map(\.message))")
        #expect(found.findings.first?.severity == .note)
        let grant = "GRANT pg_monitor TO \"mill-1\""
        #expect(found.findings.first?.message.contains("The role 'mill-1' sees") == true)
        #expect(found.findings.first?.message.contains("`\(grant)`") == true)
        #expect(found.unchecked.isSuperset(of: unseen))
        // Its own and the other one, whose kind it does not see.
        #expect(found.server?.connectionCount ?? 0 >= 2)
        try await servers.ask(primary, grant)
        let whole = try await PostgresStore.inspectHealth(url: url)
        #expect(whole.findings.isEmpty, "\(whole.findings.map(\.message))")
        #expect(whole.unchecked.isDisjoint(with: unseen))
        withExtendedLifetime(other) {}
    }
}
