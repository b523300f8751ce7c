import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// The statements of messages that expire.
extension QueryPlanTests {
    @Test(arguments: [false, true]) func expiriesGoByIndexes(_ isAnalyzed: Bool) async throws {
        let queue = QueueName(stored: "expiring")
        let now = SystemTime().now
        try await store.configure(queue, .create(.bounded(5000, .fail), ifAbsent: false))
        func many(_ expiry: Expiry) -> [NewMessage] {
            (1...1000).map { .text("\($0)", priority: $0 % 3, expiry: expiry) }
        }
        for _ in 1...2 {
            _ = try await store.enqueue(many(.after(.seconds(3600))), to: queue, durability: .processCrash)
        }
        _ = try await store.enqueue(many(.at(now)), to: queue, durability: .processCrash)
        try await analyze(isAnalyzed)
        try await store.put(.text("single", key: "k", expiry: .at(now)), to: queue)
        try await store.put(.text("again", key: "k", expiry: .at(now)), to: queue)
        _ = try await store.enqueue(Array(many(.at(now)).prefix(5)), to: queue, durability: .processCrash)
        #expect(try await store.take(10, from: queue).count == 0)
        let messages = try await store.take(10, from: queue)
        #expect(messages.count == 10)
        _ = try await store.settle(
            messages[0..<4].map { Settlement($0.lease, .done) } + messages[4...].map { Settlement($0.lease, .release) })
        _ = try await store.prune(PruneRequest())
        try await expectSearches([
            (
                "SELECT sequence, expires_at FROM penstock_expiry WHERE queue_id = ?1",
                "penstock_expiry_first (queue_id=? AND expires_at>?)"
            ),
            ("SELECT expires_at FROM penstock_expiry WHERE sequence = ?1", "INTEGER PRIMARY KEY (rowid=?)"),
            ("DELETE FROM penstock_expiry WHERE sequence = ?1", "INTEGER PRIMARY KEY (rowid=?)"),
            ("DELETE FROM penstock_expiry WHERE sequence IN", "INTEGER PRIMARY KEY (rowid=?)"),
        ])
        try await store.close()
    }
}
