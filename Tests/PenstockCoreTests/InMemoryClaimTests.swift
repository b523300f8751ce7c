import PenstockCore
import PenstockTestKit
import Testing

/// What a claim of the store in memory brings, where the messages are too large for a rule of every store.
@Suite struct InMemoryClaimTests {
    private let queue = QueueName(stored: "jobs")

    private func store() async throws -> InMemoryStore {
        let store = InMemoryDatabase(time: ManualTime(), random: SeededRandom(seed: 1)).open()
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false))
        return store
    }

    private func claimedCount(_ limit: Int, _ store: InMemoryStore) async throws -> Int {
        try await store.claim(ClaimRequest(queue: queue, limit: limit, lease: .seconds(30))).messages.count
    }

    /// As in a file, so that a program that is tested with this store meets the bound.
    @Test func aClaimEndsBehindTheMessageWithWhichItHasTooManyBytes() async throws {
        let store = try await store()
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax))
        let fitting = Limits.batchBytesMax / Limits.payloadBytesMax
        for _ in 1...fitting + 2 { _ = try await store.enqueue([large], to: queue, durability: .processCrash) }
        #expect(try await claimedCount(100, store) == fitting + 1)
        #expect(try await claimedCount(100, store) == 1)
    }

    @Test func smallOnesComeAsManyAsAreWanted() async throws {
        let store = try await store()
        let small = Array(repeating: NewMessage(payload: [7], headers: ["a": "b"]), count: 100)
        _ = try await store.enqueue(small, to: queue, durability: .processCrash)
        #expect(try await claimedCount(60, store) == 60)
        #expect(try await claimedCount(60, store) == 40)
    }
}
