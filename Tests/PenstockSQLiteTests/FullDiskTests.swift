import Foundation
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// A full disk: what was acknowledged is there, nothing else is, and with room again all goes on.
@Suite(.enabled(if: SmallDisk.canBeMade, "Mounting a small disk needs root."), .timeLimit(.minutes(5)))
struct FullDiskTests {
    private let folder = TemporaryFolder()
    private let disk: SmallDisk
    private var path: String { disk.path + "/queue.db" }
    private var filler: String { disk.path + "/filler" }

    init() throws {
        disk = try SmallDisk(mebibytes: 6, in: folder)
    }

    /// Fills the disk but for `bytes`.
    private func fill(leaving bytes: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: disk.path)
        let free = try #require(attributes[.systemFreeSize] as? Int)
        try Data(repeating: 1, count: max(0, free - bytes)).write(to: URL(fileURLWithPath: filler))
    }

    /// Enqueues single messages until the disk is full, and gives those that were acknowledged.
    private func enqueueUntilFull(_ store: SQLiteStore, _ name: String) async throws -> [String] {
        var acknowledged: [String] = []
        while acknowledged.count < 100_000 {
            let text = "\(name) \(acknowledged.count) " + String(repeating: "x", count: 500)
            do {
                try await store.put(.text(text), durability: .powerLoss)
                acknowledged.append(text)
            } catch let error as PenstockError {
                #expect(error.code == .diskFull, "\(error) \(String(describing: error.cause))")
                return acknowledged
            }
        }
        Issue.record("The disk was never full.")
        return acknowledged
    }

    @Test func whatWasAcknowledgedIsThereAndNothingElse() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try fill(leaving: 3_000_000)
        let first = try await enqueueUntilFull(store, "first")
        #expect(first.count > 100)
        #expect(try await store.texts() == first)
        #expect(try await store.depths().ready == first.count)
        // Neither a batch nor many callers at once get anything in, and each is told.
        await expect(.diskFull) {
            try await store.enqueue(
                (1...2000).map { .text("batch \($0)" + String(repeating: "x", count: 500)) }, to: .jobs,
                durability: .powerLoss)
        }
        #expect(try await store.texts() == first)

        try FileManager.default.removeItem(atPath: filler)
        try await store.put(.text("room again"), durability: .powerLoss)
        #expect(try await store.texts() == first + ["room again"])
        #expect(try await store.take(10).count == 10)
        #expect(try await SQLiteStore.inspectHealth(path: path).isHealthy)
        try await store.close()

        let again = try await SQLiteStore.open(path: path)
        #expect(try await again.texts() == first + ["room again"])
        #expect(try await again.messages(MessageQuery(states: [.ready])).count == first.count + 1)
        try await again.close()
    }

    /// A program that found no room as it opened the file leaves companions that are too small for the next program.
    @Test func theFileIsLookedAtAfterAProgramThatFoundNoRoom() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"), durability: .powerLoss)
        try await store.close()
        try fill(leaving: 0)
        for companion in ["-wal", "-shm"] {
            #expect(FileManager.default.createFile(atPath: path + companion, contents: nil))
        }
        // No other connection can be had.
        await expect(.diskFull) { try await SQLiteStore.open(path: path) }
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await reader.status(of: .jobs).queues.map(\.depths.ready) == [1])
        try await reader.close()
        #expect(try await SQLiteStore.inspectHealth(path: path).isHealthy)

        try FileManager.default.removeItem(atPath: filler)
        let again = try await SQLiteStore.open(path: path)
        #expect(try await again.texts() == ["it"])
        try await again.close()
    }

    @Test func manyCallersAtAFullDiskEachHaveTheirOwnAnswer() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try fill(leaving: 400_000)
        let outcomes = await withTaskGroup(of: Result<String, any Error>.self) { group in
            for number in 1...400 {
                group.addTask {
                    let text = "\(number) " + String(repeating: "x", count: 3000)
                    return await Result {
                        try await store.put(.text(text), durability: .powerLoss)
                        return text
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let acknowledged = outcomes.compactMap { try? $0.get() }
        #expect(acknowledged.count < 400)
        #expect(try await store.texts().sorted() == acknowledged.sorted())
        try await store.close()
    }

    @Test func aNewFileOnAFullDiskIsRefused() async throws {
        try fill(leaving: 0)
        await expect(.diskFull) { try await SQLiteStore.open(path: path) }
        try FileManager.default.removeItem(atPath: filler)
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    @Test func workGoesOnOnAFullDiskAsFarAsItCan() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("a"), durability: .powerLoss)
        try fill(leaving: 0)
        // Whether there is room for a claim or not: it happens as a whole or not at all.
        var claimed: [ClaimedMessage] = []
        do {
            claimed = try await store.take()
        } catch let error as PenstockError {
            #expect(error.code == .diskFull)
        }
        #expect(try await store.depths().leased == claimed.count)
        try FileManager.default.removeItem(atPath: filler)
        if claimed.isEmpty { claimed = try await store.take() }
        let results = try await store.settle(claimed.map { Settlement($0.lease, .done) })
        #expect(results == [.settled(.done)])
        try await store.close()
    }

    /// A store that cannot give its leases back says so, and is closed all the same: its lock goes.
    @Test func aCloseThatFailsCloses() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        for _ in 1...200 { try await store.put(.text(String(repeating: "x", count: 300))) }
        _ = try await store.take(200)
        try fill(leaving: 0)
        _ = try await enqueueUntilFull(store, "rest")
        do {
            try await store.close()
        } catch let error as PenstockError {
            #expect(error.code == .diskFull)
        }
        await expect(.closed) { try await store.put(.text("late")) }
        try FileManager.default.removeItem(atPath: filler)
        let other = try await SQLiteStore.open(path: path)
        _ = try await other.reclaim()
        #expect(try await other.depths().leased == 0)
        try await other.close()
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
