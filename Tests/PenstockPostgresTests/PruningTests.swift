import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What every process does once a minute, while others write.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct PruningTests {
    private let shared: SharedSchema
    private var store: PostgresStore { shared.store }

    init() async throws { shared = try await SharedSchema() }

    /// With a thousand queues and some tens of processes the writer lock would be held for that alone.
    @Test func whatFindsNothingWaitsForNoWriter() async throws {
        let search = "SET search_path = \(ServerConnection.quoted(name: shared.schema))"
        try shared.server.run("\(search); BEGIN; SELECT penstock_write_lock()")
        #expect(try await store.prune(PruneRequest()) == Pruned())
        try shared.server.run("COMMIT")
        try await store.close()
    }

    @Test func everyReasonIsFound() async throws {
        let names = try (1...5).map { try QueueName("queue \($0)") }
        let day = Duration.seconds(86_400)
        let policies = [
            Retention(age: .zero), Retention(age: nil, count: 0), Retention(age: nil, deadAge: .zero),
            Retention(age: day), Retention(age: day, count: 1, deadAge: day),
        ]
        for (name, retention) in zip(names, policies) {
            try await store.configure(name, .create(QueuePolicy(retention: retention), ifAbsent: false))
            _ = try await store.enqueue([NewMessage(payload: [1])], to: name, durability: .processCrash)
            let claim = try await store.claim(ClaimRequest(queue: name, limit: 1, lease: .seconds(30)))
            let lease = try #require(claim.messages.first).lease
            let verdict: Verdict = retention.deadAge == .zero ? .dead(error: "e") : .done
            _ = try await store.settle([Settlement(lease, verdict)])
        }
        let expired = NewMessage(payload: [2], expiry: .at(Timestamp(microseconds: 1)))
        _ = try await store.enqueue([expired], to: names[3], durability: .processCrash)
        #expect(try await store.prune(PruneRequest()) == Pruned(messages: 3))
        let depths = try await store.status(of: nil).queues.filter { names.contains($0.name) }.map(\.depths)
        #expect(depths.map(\.kept) == [0, 0, 0, 2, 1])
        #expect(depths.map(\.ready) == [0, 0, 0, 0, 0])
        #expect(try await store.prune(PruneRequest()) == Pruned())
        #expect(try await store.prune(PruneRequest(retention: Retention(age: nil, count: 0))) == Pruned(messages: 3))
        try await store.close()
    }

    /// Nothing that a store has open keeps what is forgotten from being removed. In a server of its own, where nobody else's transaction does,
    /// nor one in which the server vacuums or analyzes by itself.
    @Test func spaceOfWhatIsForgottenIsUsedAgain() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node, settings: ["autovacuum = off"])
        let store = try await PostgresStore.open(url: node.address)
        let name = try QueueName("q")
        try await store.configure(name, .create(QueuePolicy(retention: Retention(age: .zero)), ifAbsent: false))
        let messages = (1...2000).map { _ in NewMessage(payload: [UInt8](repeating: 7, count: 1000)) }
        var sizes: [Int] = []
        for _ in 1...5 {
            _ = try await store.enqueue(messages, to: name, durability: .processCrash)
            let request = ClaimRequest(queue: name, limit: 500, lease: .seconds(60))
            for _ in 1...4 {
                let claimed = try await store.claim(request).messages
                #expect(claimed.count == 500)
                _ = try await store.settle(claimed.map { Settlement($0.lease, .done) })
            }
            #expect(try await store.prune(PruneRequest(limit: 5000)) == Pruned(messages: 2000))
            try await servers.ask(node, "VACUUM")
            let bytes = try await servers.ask(
                node,
                """
                SELECT sum(pg_total_relation_size(oid)) FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'penstock'::regnamespace
                """)
            sizes.append(try #require(bytes.first.flatMap { Int($0) }))
        }
        // A round is more than all else. Pages of an index are free once another VACUUM has seen them.
        #expect(sizes[4] < 2 * sizes[0] && sizes[4] <= sizes[2] + 100_000, "\(sizes)")
        try await shared.store.close()
        try await store.close()
    }
}
