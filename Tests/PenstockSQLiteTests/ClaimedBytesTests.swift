import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a claim brings is in memory together, where the messages are too large for a rule of every store.
@Suite(.timeLimit(.minutes(5))) struct ClaimedBytesTests {
    private let folder = TemporaryFolder()

    private func numbers(_ messages: [ClaimedMessage]) -> [Int64] { messages.map(\.lease.sequence.rawValue) }

    /// However many are asked for: the next claim has the rest, in order.
    @Test func aClaimEndsBehindTheMessageWithWhichItHasTooManyBytes() async throws {
        let store = try await SQLiteStore.openWithJobs(folder.file("queue.db"))
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax))
        let fitting = Limits.batchBytesMax / Limits.payloadBytesMax
        try #require(fitting * Limits.payloadBytesMax == Limits.batchBytesMax)
        for _ in 1...fitting { try await store.put(large) }
        // With the first of these there is one byte too many.
        for text in ["a", "b", "c"] { try await store.put(.text(text)) }
        let all = Array(1...Int64(fitting + 3))
        #expect(try await numbers(store.take(100)) == Array(all.prefix(fitting + 1)))
        #expect(try await store.depths().ready == 2)
        #expect(try await numbers(store.take(100)) == Array(all.suffix(2)))
        try await store.close()
    }
}
