import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// How many large messages a transaction forgets, or puts in line. Two of the largest are as much as one forgets.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LargeMessageTests {
    private let harness: PostgresHarness
    private let jobs: QueueName

    init() throws {
        harness = try PostgresHarness()
        jobs = try QueueName("jobs")
    }

    private func put(_ count: Int, due: Due = .now, in store: PostgresStore) async throws {
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax), due: due)
        for _ in 1...count { _ = try await store.enqueue([large], to: jobs, durability: .processCrash) }
    }

    /// A server leaves a large payload where it lies as a turn is written beside it.
    @Test func aClaimFromAFairQueuePutsAllThatAreDueInLine() async throws {
        let store = try await harness.openStore()
        try await store.configure(jobs, .create(QueuePolicy(isFair: true), ifAbsent: false))
        try await put(3, due: .after(.seconds(1)), in: store)
        harness.time.advance(by: .seconds(1))
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
        #expect(claim.messages.count == 1)
        #expect(claim.nextDue == nil)
        try await store.close()
    }

    @Test func aPruningForgetsThemInSteps() async throws {
        let store = try await harness.openStore()
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        try await put(3, in: store)
        #expect(try await store.apply(.cancel, to: .queue(jobs, states: [.ready])) == 3)
        let request = PruneRequest(retention: Retention(age: .zero))
        #expect(try await store.prune(request) == Pruned(messages: 2, hasMore: true))
        #expect(try await store.prune(request) == Pruned(messages: 1))
        try await store.close()
    }

    @Test func aDeletionForgetsThemInSteps() async throws {
        let steps = Tally()
        let store = try await harness.openStore(afterStep: { steps.add() })
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        try await put(3, in: store)
        try await store.configure(jobs, .delete(force: true))
        #expect(steps.count == 2)
        try await store.close()
    }
}
