import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Other programs that hold the file: nobody sees a lock, and no wait is without end.
@Suite(.timeLimit(.minutes(5))) struct BusyTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func patience(_ busyMax: Duration) -> SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.busyMax = busyMax
        return options
    }

    /// Returns once a store's writer has passed the writerLock, and so is at SQLite's lock.
    private func waitUntilAtTheLock() async throws {
        let lock = try LockHolder.Probe(path)
        try await eventually { lock.isTaken }
    }

    @Test func callsWaitForAnotherProgramAndSucceed() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("first"))
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE; INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'sql')")
        async let receipt: Receipt = store.put(.text("second"))
        try await waitUntilAtTheLock()
        async let taken = store.take(1)
        // A call that only looks waits for nobody.
        #expect(try await store.texts() == ["first"])
        try await program.run("COMMIT")
        #expect(try await receipt.sequence.rawValue == 3)
        #expect(try await taken.count == 1)
        #expect(try await store.texts() == ["first", "sql", "second"])
        try await store.close()
    }

    @Test func theWaitHasAnEndAndIsSharedByAllWhoWait() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.seconds(1)))
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE")
        let started = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for number in 1...200 {
                group.addTask {
                    await expect(.busy) { try await store.put(.text("\(number)")) }
                }
            }
        }
        // One after the other they would wait for more than three minutes.
        #expect(ContinuousClock.now - started < .seconds(60))
        try await program.run("COMMIT")
        // The writer may still be on its way out of the last wait.
        try await eventually { (try? await store.put(.text("now"))) != nil }
        #expect(try await store.texts() == ["now"])
        try await store.close()
    }

    @Test func aWriterThatWasStoppedAtTheWriterLockIsNotWaitedForForEver() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.milliseconds(50)))
        let writerLock = open(path + "-penstock/writer-lock", O_RDWR)
        defer { close(writerLock) }
        for round in 1...3 {
            #expect(flock(writerLock, LOCK_EX) == 0)
            for _ in 1...2 {
                let error = await expect(.busy) { try await store.put(.text("\(round)")) }
                #expect(error?.message.contains("stopped") == true)
            }
            #expect(flock(writerLock, LOCK_UN) == 0)
            // The thread that waits at the writerLock has it soon, and it may be a little late on a loaded machine.
            try await eventually { (try? await store.put(.text("\(round)"))) != nil }
        }
        #expect(try await store.texts() == ["1", "2", "3"])
        try await store.close()
    }

    @Test func aCallThatWaitsAtTheWriterLockIsLetThrough() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let writerLock = open(path + "-penstock/writer-lock", O_RDWR)
        defer { close(writerLock) }
        for _ in 1...20 {
            #expect(flock(writerLock, LOCK_EX) == 0)
            async let receipt: Receipt = store.put(.text("it"))
            await Task.yield()
            #expect(flock(writerLock, LOCK_UN) == 0)
            _ = try await receipt
        }
        #expect(try await store.depths().ready == 20)
        try await store.close()
    }

    @Test func aStoreThatIsLetGoAtATakenTurnstileEnds() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.milliseconds(200)))
        // It has something to give back, so its close waits, but not for ever.
        try await store.put(.text("taken"))
        #expect(try await store.take().count == 1)
        let writerLock = open(path + "-penstock/writer-lock", O_RDWR)
        defer { close(writerLock) }
        #expect(flock(writerLock, LOCK_EX) == 0)
        await expect(.busy) { try await store.put(.text("it")) }
        await expect(.busy) { try await store.close() }
        await expect(.closed) { try await store.put(.text("it")) }
    }

    @Test func openingWaitsForAnotherProgram() async throws {
        let pool = try DatabasePool(path: path)
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE")
        await expect(.busy) { try await SQLiteStore.open(path: path, options: patience(.milliseconds(50))) }
        await expect(.busy) { try await SQLiteStore.open(pool: pool, options: patience(.milliseconds(50))) }
        async let byPath = SQLiteStore.open(path: path)
        async let byPool = SQLiteStore.open(pool: pool)
        try await program.run("COMMIT")
        try await byPath.close()
        try await byPool.close()
    }

    /// A pool for which nobody has set a busy mode throws at once; the store waits for it.
    @Test func anApplicationsPoolNeedsNoBusyMode() async throws {
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE")
        async let receipt: Receipt = store.put(.text("it"))
        try await waitUntilAtTheLock()
        try await program.run("COMMIT")
        #expect(try await receipt.sequence.rawValue == 1)
        try await store.close()
    }
}
