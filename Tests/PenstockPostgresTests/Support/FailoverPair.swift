import PenstockCore
import Synchronization
import Testing

@testable import PenstockPostgres

/// A primary and the standby that it waits for, which change places as often as somebody wants.
///
/// It does what an operator's tool does, such as Patroni: a standby that is promoted waits for nobody, until the other one is back.
final class FailoverPair: Sendable {
    let servers: FaultyServers
    let network: any TestNetwork
    private let roles: Mutex<(primary: FaultyServers.Node, standby: FaultyServers.Node)>
    private let disks: [String: LogDisk]

    var primary: FaultyServers.Node { roles.withLock { $0.primary } }
    var standby: FaultyServers.Node { roles.withLock { $0.standby } }
    /// Where clients find whichever of them is the primary.
    let address: String

    /// How long it took from a promotion, or from its beginning, until the first receipt.
    struct Recovery: Sendable {
        let sincePromotion: Duration
        let sinceBeginning: Duration
    }

    init(_ network: any TestNetwork) async throws {
        self.network = network
        servers = try FaultyServers(network)
        let nodes = [servers.node("a"), servers.node("b")]
        var disks: [String: LogDisk] = [:]
        for node in nodes {
            try (network as? NamespaceNetwork)?.makeHost(node.name)
            if LogDisk.canBeMade { disks[node.name] = try LogDisk(mebibytes: 256) }
        }
        self.disks = disks
        roles = Mutex((nodes[0], nodes[1]))
        address = network.address(of: nodes)
        try await servers.makePrimary(
            nodes[0], ["--wal-segsize", "1"] + (disks["a"].map { ["--waldir", $0.folder] } ?? []),
            settings: [
                "wal_log_hints = on", "wal_keep_size = 64MB", "max_wal_size = 64MB", "min_wal_size = 2MB",
                "hot_standby_feedback = on", "wal_retrieve_retry_interval = 200ms",
            ])
        try await servers.makeStandby(nodes[1], of: nodes[0], disks["b"].map { ["--waldir", $0.folder] } ?? [])
        try await waitForStandby()
    }

    /// Whether the disk of the primary's log can be filled here.
    var canFillLog: Bool { !disks.isEmpty }

    /// Has the primary wait for its standby, from when that has all.
    func waitForStandby() async throws {
        let node = primary
        try await servers.ask(node, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await servers.ask(node, "SELECT pg_reload_conf()")
        try await wait(node, for: "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'")
    }

    /// Returns when the standby shows what the primary does.
    func catchUp() async throws { try await servers.catchUp(with: primary) }

    /// Asks again and again: a server tells nobody.
    func wait(_ node: FaultyServers.Node, for sql: String) async throws {
        while try await servers.ask(node, sql).isEmpty { await Task.yield() }
    }

    /// Promotes the standby, and returns when somebody has a receipt.
    func promote(_ ledger: FaultLedger) async throws -> Recovery {
        let beginning = ContinuousClock.now
        let node = standby
        try await servers.promote(node)
        let promoted = ContinuousClock.now
        // What came before was the other one's.
        let before = ledger.now.flushedCount
        await ledger.wait { $0.flushedCount > before }
        let first = ContinuousClock.now
        roles.withLock { $0 = ($0.standby, $0.primary) }
        return Recovery(sincePromotion: first - promoted, sinceBeginning: first - beginning)
    }

    /// Makes the old primary, which has ended, the new one's standby.
    func rewind() async throws {
        try await servers.rewind(standby, to: primary)
        try await waitForStandby()
    }

    /// Fills the disk of the primary's log, and returns when the server has given up.
    func fillLog() async throws {
        let node = primary
        try disks[node.name]?.fill()
        // Segments that were made before have room still.
        while (try? await servers.ask(node, "SELECT pg_logical_emit_message(true, 'fill', repeat('x', 500000))")) != nil
        {}
    }

    func emptyLog() {
        for disk in disks.values { disk.empty() }
    }
}
