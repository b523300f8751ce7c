import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// An application's pool, with tables of its own.
final class GRDBPool: Sendable {
    let value: DatabasePool

    init(_ path: String) throws {
        value = try DatabasePool(path: path)
        try value.write {
            try $0.execute(sql: "CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, balance INTEGER)")
        }
    }
}

/// The store as a guest in an application's database.
@Suite(.timeLimit(.minutes(5))) struct PoolTests {
    private let folder = TemporaryFolder()
    private let pool: DatabasePool
    private let store: SQLiteStore

    init() async throws {
        pool = try GRDBPool(folder.file("application.db")).value
        store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
    }

    private struct ChangedMyMind: Error {}

    private func balance() async throws -> Int {
        try await pool.read { try Int.fetchOne($0, sql: "SELECT coalesce(sum(balance), 0) FROM account") ?? 0 }
    }

    @Test func commitsWithTheApplicationsTransaction() async throws {
        let worker = try await SQLiteStore.open(path: pool.path)
        let receipts = try await pool.write { database in
            try database.execute(sql: "INSERT INTO account VALUES (1, 10)")
            return try store.enqueue([.text("a"), .text("b", key: "k")], to: .jobs, in: database)
                + store.enqueue([.text("c", key: "k")], to: .jobs, in: database)
        }
        #expect(receipts.map(\.sequence.rawValue) == [1, 2, 2])
        #expect(receipts.map(\.skipped) == [false, false, true])
        #expect(receipts.map(\.durability) == Array(repeating: .processCrash, count: 3))
        #expect(try await balance() == 10)
        #expect(try await worker.take(9).count == 2)
        try await worker.close()
        try await store.close()
    }

    @Test func rollsBackWithTheApplicationsTransaction() async throws {
        let bucket = RingBucket.of(.jobs)
        let lastRing = store.changes.lastRing(for: .work, at: bucket)
        await #expect(throws: ChangedMyMind.self) {
            try await pool.write { database in
                try database.execute(sql: "INSERT INTO account VALUES (1, 10)")
                _ = try store.enqueue([.text("a")], to: .jobs, in: database)
                throw ChangedMyMind()
            }
        }
        #expect(try await balance() == 0)
        #expect(try await store.depths().ready == 0)
        #expect(try await store.texts().isEmpty)
        #expect(store.changes.lastRing(for: .work, at: bucket) == lastRing, "Nobody is woken for nothing.")
        try await store.put(.text("next"))
        #expect(try await store.texts() == ["next"])
        try await store.close()
    }

    /// Other processes hear of what came in it, once it is there.
    @Test func ringsWithTheApplicationsTransaction() async throws {
        let ear = try Ear(pool.path)
        func announced() -> Int { ear.doorbell.board.take(.max, at: RingBucket.of(.jobs)) }
        _ = try await pool.write { try store.enqueue([.text("a"), .text("b")], to: .jobs, in: $0) }
        #expect(announced() == 2)
        await #expect(throws: ChangedMyMind.self) {
            try await pool.write { database in
                _ = try store.enqueue([.text("c")], to: .jobs, in: database)
                throw ChangedMyMind()
            }
        }
        #expect(announced() == 0)
        ear.watch.end()
        try await store.close()
    }

    @Test func rollsBackWithASavepoint() async throws {
        try await pool.write { database in
            _ = try store.enqueue([.text("outer")], to: .jobs, in: database)
            try database.inSavepoint {
                _ = try store.enqueue([.text("inner")], to: .jobs, in: database)
                return .rollback
            }
            _ = try store.enqueue([.text("last")], to: .jobs, in: database)
        }
        #expect(try await store.texts() == ["outer", "last"])
        #expect(try await store.depths().ready == 2)
        try await store.close()
    }

    @Test func whatIsRefusedLeavesTheApplicationsTransactionAlone() async throws {
        try await store.configure(.mail, .create(.bounded(1, .wait), ifAbsent: false))
        try await pool.write { database in
            try database.execute(sql: "INSERT INTO account VALUES (1, 10)")
            for (messages, queue, code): ([NewMessage], QueueName, PenstockError.Code) in [
                ([.text("a"), .text("b")], .mail, .queueFull),
                ([.text("a")], QueueName(stored: "nowhere"), .unknownQueue),
                ([NewMessage(payload: [], priority: 1000)], .jobs, .invalidInput),
            ] {
                let error = #expect(throws: PenstockError.self) {
                    try PoolTransaction(store, database).enqueue(messages, to: queue)
                }
                #expect(error?.code == code)
            }
        }
        #expect(try await balance() == 10)
        #expect(try await store.texts().isEmpty)
        try await store.close()
    }

    /// Outside of a transaction its first statement would begin one that GRDB knows nothing of.
    @Test func enqueueingOutsideOfATransactionIsRefused() async throws {
        try await pool.writeWithoutTransaction { database in
            let error = #expect(throws: PenstockError.self) {
                try store.enqueue([.text("a")], to: .jobs, in: database)
            }
            #expect(error?.code == .invalidInput)
            #expect(!database.isInsideTransaction)
        }
        await #expect(throws: PenstockError.self) {
            try await pool.read { try store.enqueue([.text("a")], to: .jobs, in: $0) }
        }
        #expect(try await store.texts().isEmpty)
        try await store.close()
    }

    /// The store's own statements do not go through GRDB. What observes the application's tables must not notice.
    @Test func observersOfTheApplicationsTablesAreNotDisturbed() async throws {
        final class Watch: TransactionObserver, Sendable {
            let events = Mutex<[String]>([])
            func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == "account" }
            func databaseDidChange(with event: DatabaseEvent) {
                events.withLock { $0.append("\(event.tableName) \(event.rowID)") }
            }
            func databaseDidCommit(_ db: Database) { events.withLock { $0.append("commit") } }
            func databaseDidRollback(_ db: Database) { events.withLock { $0.append("rollback") } }
        }
        let watch = Watch()
        pool.add(transactionObserver: watch, extent: .databaseLifetime)
        let values = ValueObservation.tracking { database in
            try Int.fetchOne(database, sql: "SELECT sum(balance) FROM account") ?? 0
        }.removeDuplicates()
        var seen = values.values(in: pool).makeAsyncIterator()
        #expect(try await seen.next() == 0)

        try await pool.write { database in
            try database.execute(sql: "INSERT INTO account VALUES (1, 10)")
            _ = try store.enqueue([.text("a")], to: .jobs, in: database)
            try database.inSavepoint {
                try database.execute(sql: "INSERT INTO account VALUES (2, 5)")
                _ = try? store.enqueue([.text("a")], to: QueueName(stored: "nowhere"), in: database)
                return .commit
            }
        }
        #expect(try await seen.next() == 15)
        #expect(watch.events.withLock { $0 } == ["account 1", "account 2", "commit"])
        watch.events.withLock { $0 = [] }

        for message in try await store.take(5) { _ = try await store.settle([Settlement(message.lease, .done)]) }
        await #expect(throws: PenstockError.self) { try await store.put(.text("x"), to: .mail) }
        #expect(watch.events.withLock { Set($0) }.isSubset(of: ["commit"]))
        try await pool.write { try $0.execute(sql: "UPDATE account SET balance = 100 WHERE id = 2") }
        #expect(try await seen.next() == 110)
        #expect(watch.events.withLock { $0.suffix(2) } == ["account 2", "commit"])
        try await store.close()
    }

    @Test(arguments: [0, 1, 2, 3]) func thePoolsSynchronousStaysAsItWasFound(_ level: Int) async throws {
        @Sendable func found() async throws -> Int {
            try await pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") ?? -1 }
        }
        try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(level)") }
        for durability in Durability.allCases {
            try await store.put(.text("it"), durability: durability)
            #expect(try await found() == level)
        }
        await expect(.unknownQueue) { try await store.put(.text("x"), to: .mail, durability: .powerLoss) }
        #expect(try await found() == level)
        let receipts = try await pool.write { try store.enqueue([.text("it")], to: .jobs, in: $0) }
        let isFlushed = level >= 2 && !FlushLevel.flushesEndInCache
        #expect(receipts.map(\.durability) == [isFlushed ? .powerLoss : .processCrash])
        try await store.close()
        #expect(try await found() == level)
    }

    /// On Apple's systems, by SQLite's word for it, which it takes everywhere.
    @Test func whereAFlushEndsInTheDrivesCacheTheCommitGoesThroughIt() async throws {
        try await pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
            #expect(try FlushLevel.raise(database, flushesEndInCache: false) == nil)
            let found = try #require(try FlushLevel.raise(database, flushesEndInCache: true))
            #expect(found == FlushLevel(synchronous: 2, fullfsync: false))
            #expect(found.durability == .processCrash)
            #expect(try Int.fetchOne(database, sql: "PRAGMA fullfsync") == 1)
            #expect(try FlushLevel(of: database, flushesEndInCache: true)?.durability == .powerLoss)
            #expect(try FlushLevel.raise(database, flushesEndInCache: true) == nil)
            try found.set(database)
            #expect(try FlushLevel(of: database, flushesEndInCache: true) == found)
        }
        try await store.close()
    }

    @Test func aClosedStoreLeavesThePoolOpen() async throws {
        try await store.put(.text("it"))
        _ = try await store.take()
        try await store.close()
        try await pool.write { try $0.execute(sql: "INSERT INTO account VALUES (1, 10)") }
        #expect(try await balance() == 10)
        let again = try await SQLiteStore.open(pool: pool)
        #expect(try await again.take().count == 1)
        _ = try await pool.write { try again.enqueue([.text("it")], to: .jobs, in: $0) }
        try await again.close()
        // No statement of the store's is left in it, so it can be closed.
        try pool.close()
    }

    /// Processes that come by the other name do not see what lies in the log of the pool.
    @Test func aPoolOnAFileWithTwoNamesIsRefused() async throws {
        try FileManager.default.linkItem(atPath: folder.file("application.db"), toPath: folder.file("other.db"))
        await expect(.invalidInput) { try await SQLiteStore.open(pool: pool) }
    }

    /// A store whose queues are on their way to another one takes nothing new; workers may end what they have, until nothing changes there.
    @Test func aStoreThatIsLeftTakesVerdictsAlone() async throws {
        for text in ["a", "b"] { try await store.put(.text(text)) }
        let leases = try await store.take(2).map(\.lease)
        let workflow = NewWorkflow(
            .flow, tasks: [NewTask(TaskName(stored: "first"), queue: .jobs, message: .text("first"))])
        let event = NewEvent(try EventName("go"))
        func code(_ call: @escaping @Sendable (PoolTransaction) throws -> Void) async -> PenstockError.Code? {
            await errorCode { [store] in try await pool.write { try call(PoolTransaction(store, $0)) } }
        }
        let new: [@Sendable (PoolTransaction) throws -> Void] = [
            { _ = try $0.enqueue([.text("new")], to: .jobs) },
            { _ = try $0.start(workflow) },
            { _ = try $0.emit(event, to: .message(leases[1].sequence)) },
        ]
        try await pool.write { try $0.execute(sql: "UPDATE penstock_state SET moving = 'draining'") }
        for call in new { #expect(await code(call) == .storeMoved) }
        #expect(await code { _ = try $0.settle([Settlement(leases[0], .done)]) } == nil)
        #expect(try await store.depths().leased == 1)

        try await pool.write { try $0.execute(sql: "UPDATE penstock_state SET moving = 'moved'") }
        for call in new { #expect(await code(call) == .storeMoved) }
        #expect(await code { _ = try $0.settle([Settlement(leases[1], .done)]) } == .storeMoved)
        #expect(try await store.depths().leased == 1)
        #expect(try await store.texts() == ["a", "b"])
        try await store.close()
    }

    @Test func theApplicationAndTheStoreWriteAtTheSameTime() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...100 {
                group.addTask {
                    try await pool.write { database in
                        try database.execute(sql: "INSERT INTO account VALUES (?, 1)", arguments: [number])
                        _ = try store.enqueue([.text("app \(number)")], to: .jobs, in: database)
                    }
                }
                group.addTask { try await store.put(.text("store \(number)"), durability: .powerLoss) }
                // A lease that ends on a busy machine is lost work, which a look at the file's health finds.
                group.addTask { _ = try await store.take(1, lease: .seconds(3600)) }
            }
            try await group.waitForAll()
        }
        #expect(try await balance() == 100)
        let depths = try await store.depths()
        #expect(depths.ready + depths.leased == 200)
        #expect(Set(try await store.texts()).count == 200)
        #expect(try await SQLiteStore.inspectHealth(path: pool.path).findings.allSatisfy { $0.severity == .note })
        try await store.close()
    }
}
