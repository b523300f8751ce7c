import Foundation
import GRDB
import MetricsTestKit
import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What a message does and that it is done, in one transaction of the application: both or neither.
@Suite(.timeLimit(.minutes(5))) struct SettleInTransactionTests {
    struct Broken: Error {}

    let folder = TemporaryFolder()
    let pool: DatabasePool

    init() throws {
        pool = try DatabasePool(path: folder.file("test.db"))
        try pool.write { db in try db.execute(sql: "CREATE TABLE sale (item INTEGER)") }
    }

    private func sales() async throws -> [Int] {
        try await pool.read { db in try Int.fetchAll(db, sql: "SELECT item FROM sale ORDER BY rowid") }
    }

    @Test func aCommitFinishesTheMessageAndItsEffectTogether() async throws {
        let store = try await PenstockStore.open(pool)
        let (queue, next) = (try await store.queue("q", of: Int.self), try await store.queue("next", of: Int.self))
        let receipt = try await queue.enqueue(7)
        try await Worker(queue, options: .init(drain: true)) { [pool] delivery in
            try await pool.write { db in
                try db.execute(sql: "INSERT INTO sale VALUES (?)", arguments: [delivery.payload])
                try delivery.done(in: db)
                try next.enqueue(delivery.payload + 1, in: db)
            }
        }.run()
        #expect(try await store.message(receipt.sequence).state == .done)
        #expect(try await sales() == [7])
        #expect(try await next.status().depths.ready == 1)
        try await store.close()
    }

    @Test func aRollbackLeavesTheMessageToBeTriedAgain() async throws {
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue(
            "q", of: Int.self, policy: QueuePolicy(retry: RetryPolicy(base: .zero, cap: .zero)))
        let receipt = try await queue.enqueue(7)
        try await Worker(queue, options: .init(max: 2)) { [pool] delivery in
            try await pool.write { db in
                try db.execute(sql: "INSERT INTO sale VALUES (?)", arguments: [delivery.payload])
                try delivery.done(in: db)
                if delivery.attempt == 1 { throw Broken() }
            }
        }.run()
        let record = try await store.message(receipt.sequence)
        #expect(record.state == .done)
        #expect(record.attempts.map(\.error) == ["Broken()"])
        #expect(try await sales() == [7])
        try await store.close()
    }

    @Test func aSavepointThatIsRolledBackLeavesTheLeaseHeldAndExtended() async throws {
        let metrics = TestMetrics()
        let store = try await PenstockStore.open(pool, options: .init(metrics: metrics))
        let queue = try await store.queue("q", of: Int.self)
        let receipt = try await queue.enqueue(7)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        try await pool.write { db in
            try db.inSavepoint {
                try delivery.done(in: db)
                return .rollback
            }
            try db.execute(sql: "INSERT INTO sale VALUES (7)")
        }
        #expect(try await sales() == [7])
        #expect(try await store.message(receipt.sequence).state == .leased)
        #expect(delivery.holder.inFlight.isExtended(delivery.lease))

        // The first of these comes to nothing, and the second one is the message's.
        try await pool.write { db in
            for end in [Database.TransactionCompletion.rollback, .commit] {
                try db.inSavepoint {
                    try delivery.done(in: db)
                    return end
                }
            }
        }
        #expect(metrics.counterTotal(label: "penstock.done", dimensions: [("queue", "q")]) == 1)
        #expect(try await store.message(receipt.sequence).state == .done)
        #expect(!delivery.holder.inFlight.contains(delivery.lease))
        try await store.close()
    }

    @Test func whoLostTheLeaseWritesNothing() async throws {
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("q", of: Int.self)
        let receipt = try await queue.enqueue(7)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        try await store.cancelNow([receipt.sequence])
        let code = await errorCode {
            try await pool.write { db in
                try db.execute(sql: "INSERT INTO sale VALUES (7)")
                try delivery.done(in: db)
            }
        }
        #expect(code == .leaseLost)
        #expect(try await sales() == [])
        #expect(try await store.message(receipt.sequence).state == .cancelled)
        try await store.close()
    }

    @Test func withoutATransactionThereIsNothingToJoin() async throws {
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("q", of: Int.self)
        try await queue.enqueue(7)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        let code = await errorCode {
            try await pool.writeWithoutTransaction { db in try delivery.done(in: db) }
        }
        #expect(code == .invalidInput)
        try await delivery.done()
        try await store.close()
    }
}
