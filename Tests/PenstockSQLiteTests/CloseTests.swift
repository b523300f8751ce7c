import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// How a store ends, and what is left of it.
@Suite(.timeLimit(.minutes(5))) struct CloseTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func sideFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path + "-penstock").sorted()
    }

    @Test func everyCallAfterACloseIsRefused() async throws {
        let pool = try DatabasePool(path: folder.file("application.db"))
        let stores = [try await SQLiteStore.openWithJobs(path), try await SQLiteStore.open(pool: pool)]
        for store in stores {
            try await store.close()
            await expect(.closed) { try await store.put(.text("it")) }
            await expect(.closed) { try await store.take() }
            await expect(.closed) {
                try await store.settle([Settlement(Lease(sequence: .init(1), token: .init(rawValue: 1)), .done)])
            }
            await expect(.closed) { try await store.reclaim() }
            await expect(.closed) { try await store.messages(MessageQuery()) }
            await expect(.closed) { try await store.status(of: nil) }
            await expect(.closed) { try await store.configure(.jobs, .pause) }
            await expect(.closed) { try await store.apply(.cancel, to: .sequences([])) }
            await expect(.closed) { try await store.prune(PruneRequest()) }
            try await store.close()
        }
        await expect(.closed) {
            try await pool.write { try stores[1].enqueue([.text("it")], to: .jobs, in: $0) }
        }
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM penstock_log") } == 0)
    }

    /// Its connection may be one that is opened when the others are closed already, and the log is put away.
    @Test func aReadingThatFailsAsItsStoreIsClosedIsRefusedAsOneBehindThat() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        await expect(.closed) {
            try await store.snapshots.read { [writer = store.core.writer] _ -> Void in
                writer.stop()
                throw PenstockError(.fileReplaced, "the log is gone")
            }
        }
        try await store.close()
    }

    @Test func closingTogetherIsClosingOnce() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        _ = try await store.take()
        // By a connection that only reads, which could not put the log away.
        _ = try await store.status(of: nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...20 { group.addTask { try await store.close() } }
            try await group.waitForAll()
        }
        #expect(try sideFiles() == ["doorbell-2", "log-owner", "writer-lock", "writers-4"])
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"), "The last one to close tidies up.")
    }

    /// Whatever comes in the middle of a close, no lease is left behind it.
    @Test func aClaimDuringACloseLeavesNoLease() async throws {
        for _ in 1...10 {
            let store = try await SQLiteStore.openWithJobs(path)
            _ = try await store.enqueue((1...50).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
            await withTaskGroup(of: Void.self) { group in
                for _ in 1...50 {
                    group.addTask { _ = try? await store.take() }
                }
                group.addTask { try? await store.close() }
            }
            let other = try await SQLiteStore.open(path: path)
            #expect(try await other.depths().leased == 0)
            #expect(try await other.status(of: nil).workers.isEmpty)
            #expect(try sideFiles() == ["doorbell-2", "log-owner", "writer-lock", "writers-4"])
            try await other.close()
        }
    }

    @Test func callsBeforeACloseAreAnswered() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let held = try await HeldWriter(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...50 { group.addTask { try await store.put(.text("\(number)")) } }
            try await held.waitForCalls(50)
            group.addTask { try await store.close() }
            try await held.waitForCalls(51)
            await expect(.closed) { try await store.put(.text("late")) }
            try await held.letGo()
            try await group.waitForAll()
        }
        let other = try await SQLiteStore.open(path: path)
        #expect(try await other.depths().ready == 50)
        try await other.close()
    }

    /// Nobody closed it: it finishes what it was asked for, and its lock goes with it.
    @Test func aStoreThatIsLetGoCountsAsDead() async throws {
        let other = try await SQLiteStore.openWithJobs(path)
        func use() async throws {
            let store = try await SQLiteStore.open(path: path)
            try await store.put(.text("it"))
            #expect(try await store.take().count == 1)
            #expect(try await other.status(of: nil).workers.map(\.isAlive) == [true])
        }
        try await use()
        try await eventually { try await !other.status(of: nil).workers.contains { $0.isAlive == true } }
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try await other.take().map(\.attempt) == [2])
        try await other.close()
    }

    @Test func whatWasLeasedGoesBackUncounted() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        _ = try await store.take()
        try await store.close()
        let other = try await SQLiteStore.open(path: path)
        #expect(try await other.take().map(\.attempt) == [1])
        try await other.close()
    }

    /// A store that has leased nothing closes while another process is stopped with the lock.
    @Test(arguments: [false, true]) func aCloseWithNothingToGiveBackWaitsForNobody(isRegistered: Bool) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        if isRegistered {
            try await store.put(.text("it"))
            let taken = try await store.take()
            _ = try await store.settle(taken.map { Settlement($0.lease, .done) })
        }
        let lock = try WriterLock(SharedFolder(besideDatabaseAt: path))
        #expect(lock.tryAcquire())
        try await store.close()
        lock.release()
        let other = try await SQLiteStore.open(path: path)
        let workers = try await other.status(of: nil).workers
        #expect(workers.map(\.isAlive) == (isRegistered ? [false] : []))
        _ = try await other.reclaim()
        #expect(try await other.status(of: nil).workers.isEmpty)
        try await other.close()
    }

    @Test func aWorkerThatIsThroughLeavesNoRow() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let taken = try await store.take()
        _ = try await store.settle(taken.map { Settlement($0.lease, .done) })
        try await store.close()
        #expect(try sideFiles() == ["doorbell-2", "log-owner", "writer-lock", "writers-4"])
        let other = try await SQLiteStore.open(path: path)
        #expect(try await other.status(of: nil).workers.isEmpty)
        try await other.close()
    }
}
