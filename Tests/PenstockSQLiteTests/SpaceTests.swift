import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What is forgotten gives its room back, in steps that let others through.
@Suite(.timeLimit(.minutes(5))) struct SpaceTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private func enqueue(_ count: Int, _ store: SQLiteStore, due: Due = .now) async throws {
        let text = String(repeating: "x", count: 200)
        var left = count
        while left > 0 {
            let batch = (1...min(left, 10_000)).map { _ in NewMessage.text(text, due: due) }
            _ = try await store.enqueue(batch, to: .jobs, durability: .processCrash)
            left -= batch.count
        }
    }

    private func finish(_ count: Int, _ store: SQLiteStore) async throws {
        var left = count
        while left > 0 {
            let messages = try await store.take(min(left, 10_000))
            _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
            left -= messages.count
        }
    }

    private func pruneAll(_ store: SQLiteStore, _ retention: Retention) async throws -> Int {
        var (count, hasMore) = (0, true)
        while hasMore {
            let pruned = try await store.prune(PruneRequest(retention: retention))
            count += pruned.messages
            hasMore = pruned.hasMore
        }
        return count
    }

    private func pages(_ pragma: String) async throws -> Int {
        try await ForeignProgram(path).number("PRAGMA \(pragma)")
    }

    @Test func pruningManyLetsOthersThroughAndShrinksTheFile() async throws {
        let store = try await harness.openWithJobs()
        try await enqueue(50_000, store)
        try await finish(50_000, store)
        let before = try await pages("page_count")
        let pruned = Task { try await pruneAll(store, Retention(age: .zero)) }
        var enqueued = 0
        while try await store.depths().kept > 0 {
            try await store.put(.text("meanwhile"))
            enqueued += 1
        }
        #expect(try await pruned.value == 50_000)
        #expect(enqueued > 5, "An enqueue waits for one step, and not for all of them.")
        #expect(try await store.depths().ready == enqueued)
        #expect(try await pages("page_count") < before / 4)
        #expect(try await pages("freelist_count") <= 256)
        #expect(try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings == [])
        try await store.close()
    }

    @Test func deletingALargeQueueShrinksTheFile() async throws {
        let store = try await harness.openWithJobs()
        try await enqueue(30_000, store)
        let before = try await pages("page_count")
        try await store.configure(.jobs, .delete(force: true))
        #expect(try await pages("page_count") < before / 4)
        try await store.close()
    }

    @Test func theLogBesideTheFileIsCutAfterABurst() async throws {
        let store = try await harness.openWithJobs()
        let reader = try ForeignProgram(path)
        try await reader.run("BEGIN")
        _ = try await reader.rows("SELECT count(*) FROM penstock_log")
        // A reader that stays holds the log, whatever the store does.
        let payload = [UInt8](repeating: 7, count: 1_000_000)
        for _ in 1...90 {
            _ = try await store.enqueue([NewMessage(payload: payload)], to: .jobs, durability: .processCrash)
        }
        #expect(try bytes(of: path + "-wal").count > 90_000_000)
        try await reader.run("COMMIT")
        // The next checkpoint empties it, and the next write after that begins it anew and cuts it.
        for _ in 1...25 {
            _ = try await store.enqueue([NewMessage(payload: payload)], to: .jobs, durability: .processCrash)
        }
        #expect(try bytes(of: path + "-wal").count <= 67_108_864)
        try await store.close()
    }

    /// Messages that were accepted early and ended late do not keep those that ended before them.
    @Test func stragglersAtTheHeadOfTheLogKeepNothing() async throws {
        let store = try await harness.openWithJobs(
            QueuePolicy(retention: Retention(age: .seconds(100), deadAge: .seconds(100))))
        try await enqueue(3000, store, due: .after(.seconds(150)))
        try await enqueue(4000, store)
        try await finish(4000, store)
        harness.time.advance(by: .seconds(150))
        try await finish(3000, store)
        var (count, hasMore) = (0, true)
        while hasMore {
            let pruned = try await store.prune(PruneRequest())
            count += pruned.messages
            hasMore = pruned.hasMore
        }
        #expect(count == 4000)
        #expect(try await store.depths().kept == 3000)
        try await store.close()
    }

    @Test(arguments: [Int.max, 1_000_000]) func anyLimitIsAStep(_ limit: Int) async throws {
        let store = try await harness.openWithJobs()
        try await enqueue(12_000, store)
        try await finish(12_000, store)
        let request = PruneRequest(retention: Retention(age: .zero), limit: limit)
        #expect(try await store.prune(request) == Pruned(messages: 10_000, hasMore: true))
        #expect(try await store.prune(request) == Pruned(messages: 2000, hasMore: false))
        try await store.close()
    }

    /// A file that was not made to give pages back gives none, and nobody waits for it to.
    @Test func aFileWithoutAutoVacuumIsPrunedAllTheSame() async throws {
        let plain = try ForeignProgram(path)
        try await plain.run("PRAGMA auto_vacuum = NONE; CREATE TABLE first (x); DROP TABLE first")
        let store = try await harness.openWithJobs()
        #expect(try await pages("auto_vacuum") == 0)
        try await enqueue(5000, store)
        try await finish(5000, store)
        #expect(try await pruneAll(store, Retention(age: .zero)) == 5000)
        #expect(try await store.depths().kept == 0)
        try await store.close()
    }

    @Test func aClaimOfHugePayloadsIsBounded() async throws {
        let store = try await harness.openWithJobs()
        let payload = [UInt8](repeating: 1, count: 9 * 1024 * 1024)
        for _ in 1...10 {
            _ = try await store.enqueue([NewMessage(payload: payload)], to: .jobs, durability: .processCrash)
        }
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == Array(1...8), "Eight are more than 64 MiB.")
        #expect(try await store.depths().leased == 8)
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [9, 10])
        try await store.close()
    }
}
