import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// How long a process waits for the disk, and for others that write.
@Suite(.timeLimit(.minutes(5))) struct TimingTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func aFlushIsTimedWhereThereIsOne() async throws {
        var options = SQLiteStore.Options()
        // It takes a moment also where files lie in memory.
        options.flush = { descriptor in
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .microseconds(2) {}
            return Flusher.systemFlush(descriptor)
        }
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let before = store.timings
        _ = try await store.enqueue([.text("a")], to: .jobs, durability: .processCrash)
        #expect(store.timings.flush == before.flush)
        #expect(store.timings.writerLock.count == before.writerLock.count + 1)
        _ = try await store.enqueue([.text("b")], to: .jobs, durability: .powerLoss)
        #expect(store.timings.flush.count == before.flush.count + 1)
        #expect(store.timings.flush.sum > before.flush.sum)
        try await store.close()
    }

    @Test func aWaitForAnotherProcessIsTimed() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let before = store.timings.writerLock
        let holder = try LockHolder(path)
        async let receipt: Receipt = store.put(.text("a"))
        try await holder.waitFor()
        holder.leave()
        _ = try await receipt
        let since = try #require(store.timings.writerLock.since(before))
        #expect(since.count == 1 && since.sum > .zero)
        try await store.close()
    }
}
