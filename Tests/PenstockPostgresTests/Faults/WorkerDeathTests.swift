import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// How soon another worker has the messages of one that is gone, while their leases have half a minute left.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct WorkerDeathTests {
    private static let script = """
        echo "$PENSTOCK_SEQUENCE $PENSTOCK_ATTEMPT"; read -r line; [ "$line" = pass ] || exec sleep 1000
        """

    /// - Returns: how long it took from the death of a worker, real like the other one, until that had its message, by the server's record.
    private func takeOver(
        at url: String, queue: String, prefix: [String] = [], _ end: (RunningTool) throws -> Void
    ) async throws -> Duration {
        var options = PostgresStore.Options()
        options.busyMax = .seconds(10)
        let store = try await PostgresStore.open(url: url, options: options)
        let name = try QueueName(queue)
        try await store.configure(name, .create(QueuePolicy(), ifAbsent: true))
        func enqueue(_ payload: String) async throws {
            _ = try await store.enqueue(
                [NewMessage(payload: Array("\(payload)\n".utf8))], to: name, durability: .powerLoss)
        }
        let work = ["work", queue, "--lease", "30s", "--", "sh", "-c", Self.script]
        let victim = try RunningTool(work, at: url, prefix)
        try await enqueue("wait")
        let first = try #require(await victim.lines.next())
        #expect(first.hasSuffix(" 1"))
        // When this one has worked what the other has no place for, it waits.
        let heir = try RunningTool(work, at: url)
        try await enqueue("pass")
        #expect(await heir.lines.next()?.hasSuffix(" 1") == true)
        let server = try Sessions.connect(to: ServerAddress(url), busyMax: .seconds(30))
        func moment(_ sql: String) throws -> Int64 { try #require(Int64(server.run(sql).text(0, 0))) }
        let start = try moment("SELECT penstock_now()")
        try end(victim)
        let again = try #require(await heir.lines.next())
        let claimed = try moment(
            """
            SELECT claimed_at FROM penstock_lease WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = '\(queue)')
            """)
        let time = Duration.microseconds(claimed - start)
        #expect(again == first.replacing(" 1", with: " 2"))
        heir.send(SIGKILL)
        victim.send(SIGKILL)
        try await store.close()
        return time
    }

    private func expect(within bound: Duration, _ what: String, _ measure: (Int) async throws -> Duration) async throws
    {
        let times = try await measured(atMost: 8, until: { $0 <= bound }, measure)
        print("    \(what): \(times)")
        #expect(try #require(times.last) <= bound, "\(what): \(times)")
    }

    @Test func messagesOfAKilledProcessAreBackWithinASecond() async throws {
        let tool = try Tool()
        try await expect(within: .seconds(1), "from the kill to the other worker's claim") { number in
            try await takeOver(at: tool.url, queue: "q\(number)") { $0.send(SIGKILL) }
        }
    }

    @Test(.enabled(if: NamespaceNetwork.canBeMade, "This machine allows no network namespaces."))
    func messagesOfAVanishedHostAreBackWithinFiveSeconds() async throws {
        let network = try NamespaceNetwork()
        let servers = try FaultyServers(network)
        let node = servers.node("a")
        try network.makeHost("a")
        try network.makeHost("worker")
        try await servers.makePrimary(node)
        try await expect(within: .seconds(5), "from the cut to the other worker's claim") { number in
            try network.plug("worker")
            return try await takeOver(
                at: network.address(of: [node]), queue: "q\(number)", prefix: network.prefix(of: "worker")
            ) { _ in try network.unplug("worker") }
        }
    }

    /// A session that waits for a standby sees nothing of its process's end, and must not say that it lives.
    @Test func aSessionThatWaitsForAStandbyHoldsNoWorkersLock() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        let queue = try QueueName("mail")
        let store = try await PostgresStore.open(url: node.address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try await servers.ask(node, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        try await servers.ask(node, "SELECT pg_reload_conf()")
        // A session learns of the changed setting at any later time: one call alone may end before, and nobody would wait.
        let hasWaited = Flag()
        let receipts = Task {
            var count = 0
            while !hasWaited.isRaised {
                count += try await store.enqueue([NewMessage(payload: [1])], to: queue, durability: .powerLoss).count
            }
            return count
        }
        let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while try await servers.ask(node, waiting).isEmpty { await Task.yield() }
        let holders = try await servers.ask(
            node,
            """
            SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
            AND classid::bigint = (('penstock.penstock_state'::regclass::oid::bigint - 2147483648) & 4294967295)
            """)
        #expect(!holders.isEmpty)
        #expect(Set(holders).isDisjoint(with: try await servers.ask(node, waiting)))
        try await servers.ask(node, "ALTER SYSTEM RESET synchronous_standby_names")
        try await servers.ask(node, "SELECT pg_reload_conf()")
        hasWaited.raise()
        #expect(try await receipts.value >= 1)
        try await store.close()
    }
}
