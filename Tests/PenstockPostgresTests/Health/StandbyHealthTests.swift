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
        try await servers.stop(standby)
        while try await !servers.ask(primary, "SELECT 1 FROM pg_stat_replication").isEmpty { await Task.yield() }
        let waiting = try await kinds(primary)
        #expect(waiting.map(\.severity) == [.error])
        #expect(waiting.first?.message.contains("none is there") == true)
    }
}
