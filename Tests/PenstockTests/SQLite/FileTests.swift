import Foundation
import GRDB
import Logging
import Penstock
import PenstockCore
import PenstockMigrations
import PenstockTestKit
import Synchronization
import Testing

/// The public face on a file: that it is wired to the store on SQLite. What that store does is tested with it.
@Suite(.timeLimit(.minutes(5))) struct FileTests {
    let folder = TemporaryFolder()

    @Test func aFileIsMadeAndOpenedAgain() async throws {
        let store = try await PenstockStore.open(path: folder.file("test.db"))
        let receipt = try await store.queue("q", of: Int.self).enqueue(42)
        try await store.close()

        let again = try await PenstockStore.open(path: folder.file("test.db"), options: .init(createIfMissing: false))
        #expect(try await again.message(receipt.sequence).payload == Array("42".utf8))
        try await again.close()
    }

    @Test func aMissingFileIsNotMadeUnlessItMayBe() async throws {
        let error = await #expect(throws: PenstockError.self) {
            try await PenstockStore.open(path: folder.file("test.db"), options: .init(createIfMissing: false))
        }
        #expect(error?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: folder.file("test.db")))
    }

    /// Programs of an older release find a file that was brought up to date newer than they are.
    @Test func aFileIsBroughtUpToDateUnlessThatIsRefused() async throws {
        let path = folder.file("test.db")
        let older = try DatabaseQueue(path: path)
        try await older.writeWithoutTransaction { database in
            for step in Migration.all.dropLast() { try database.execute(sql: step.sql) }
        }
        try older.close()
        let refused = await #expect(throws: PenstockError.self) {
            try await PenstockStore.open(path: path, options: .init(migration: .refuse))
        }
        #expect(refused?.code == .olderSchema)
        let opened = try await PenstockStore.open(path: path)
        #expect(opened.appliedSteps == Migration.all.suffix(1).map(\.name))
        try await opened.close()
        try await PenstockStore.open(path: path, options: .init(migration: .refuse)).close()
    }

    /// People find the process that holds a message by it.
    @Test func aWorkerHasTheNameThatItWasGiven() async throws {
        let time = ManualTime()
        let options = PenstockStore.Options(time: time, workerName: "mill")
        let store = try await PenstockStore.open(path: folder.file("test.db"), options: options)
        let queue = try await store.queue("q", of: Int.self)
        try await queue.enqueue(7)
        _ = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(30)))
        let workers = try await store.storage.status(of: nil).workers
        #expect(workers.map(\.name) == ["mill"] && workers.map(\.startedAt) == [time.now])
        try await store.close()
    }

    /// A row that was made wrong by hand costs its message. The log is where people look, and not at what the doctor says.
    @Test func aWorkerTellsOfTheRowThatItSetsAside() async throws {
        let log = TestLog(from: .warning)
        let pool = try DatabasePool(path: folder.file("test.db"))
        let store = try await PenstockStore.open(pool, options: .init(logger: log.logger))
        let queue = try await store.queue("q", of: Int.self)
        for number in 1...3 { try await queue.enqueue(number) }
        try await pool.write { try $0.execute(sql: "DELETE FROM penstock_log WHERE sequence = 2") }
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(
            log.linesWithMetadata == [
                "row set aside, as it contradicts the rest of the store; `penstock doctor` says more queue=q "
                    + "reason=The message is in line and not in the log, or there with another queue, priority or turn. "
                    + "sequence=2"
            ])
        #expect(try await queue.status().totals.done == 2)
        try await store.close()
    }

    @Test func aPoolThatIsOnlyReadIsLeftAsItIs() async throws {
        let pool = try DatabasePool(path: folder.file("test.db"))
        let missing = await #expect(throws: PenstockError.self) {
            try await PenstockStore.open(pool, options: .init(access: .readOnly))
        }
        #expect(missing?.code == .notFound)
        let isMade = try await pool.read { try $0.tableExists("penstock_log") }
        #expect(!isMade)
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("q", of: Int.self)
        let reading = try await PenstockStore.open(pool, options: .init(access: .readOnly))
        let refused = await #expect(throws: PenstockError.self) {
            try await reading.queue("q", of: Int.self, create: false).enqueue(7)
        }
        #expect(refused?.code == .readOnly)
        #expect(try await queue.status().depths.ready == 0)
        try await reading.close()
        try await store.close()
    }

    @Test func twoStoresWorkOneFile() async throws {
        let producer = try await PenstockStore.open(path: folder.file("test.db"))
        let consumer = try await PenstockStore.open(path: folder.file("test.db"))
        let queue = try await producer.queue("q", of: Int.self)
        let sameQueue = try await consumer.queue("q", of: Int.self)
        let counts = Mutex([Int](repeating: 0, count: 300))
        let worker = Task {
            try await Worker(sameQueue, options: .init(concurrency: 4, max: 300)) { delivery in
                counts.withLock { $0[delivery.payload] += 1 }
            }.run()
        }
        for start in stride(from: 0, to: 300, by: 50) {
            try await queue.enqueue(contentsOf: Array(start..<start + 50), durability: .processCrash)
        }
        try await worker.value
        #expect(counts.withLock { $0 } == [Int](repeating: 1, count: 300))
        #expect(try await queue.status().totals.done == 300)
        try await producer.close()
        try await consumer.close()
    }

    // MARK: The application's own transaction

    @Test func whatIsEnqueuedInATransactionComesWithItsCommit() async throws {
        let pool = try DatabasePool(path: folder.file("test.db"))
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("q", of: Int.self)
        try await pool.write { db in
            try db.execute(sql: "CREATE TABLE sale (item INTEGER)")
            try db.execute(sql: "INSERT INTO sale VALUES (7)")
            try queue.enqueue(7, options: .init(headers: ["a": "b"]), in: db)
        }
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        #expect(delivery.payload == 7)
        #expect(delivery.headers == ["a": "b"])
        try await delivery.done()
        try await store.close()
    }

    @Test func whatIsEnqueuedInATransactionGoesWithItsRollback() async throws {
        struct Changed: Error {}
        let pool = try DatabasePool(path: folder.file("test.db"))
        let store = try await PenstockStore.open(pool)
        let raw = try await store.queue("q")
        await #expect(throws: Changed.self) {
            try await pool.write { db in
                try raw.enqueue([NewMessage(payload: [1]), NewMessage(payload: [2])], in: db)
                throw Changed()
            }
        }
        #expect(try await raw.status().depths.ready == 0)
        try await store.close()
    }

    @Test func aStoreOfAnotherKindCannotJoinATransaction() async throws {
        let queue = try await Fixture().queue()
        let pool = try DatabasePool(path: folder.file("test.db"))
        let error = await #expect(throws: PenstockError.self) {
            try await pool.write { db in _ = try queue.enqueue(1, in: db) }
        }
        #expect(error?.code == .invalidInput)
    }
}
