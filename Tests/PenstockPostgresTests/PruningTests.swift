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
}
