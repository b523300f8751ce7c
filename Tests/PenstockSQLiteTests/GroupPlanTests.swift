import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// The statements of groups and limits.
extension QueryPlanTests {
    @Test(arguments: [false, true]) func groupsGoByIndexes(_ isAnalyzed: Bool) async throws {
        let queue = QueueName(stored: "grouped")
        try await store.setLimit(LimitName(stored: "db"), to: 50)
        let policy = QueuePolicy(
            capacity: Capacity(3000, whenFull: .dropOldest), groups: .fifo(onDead: .hold), limit: 40,
            sharedLimit: LimitName(stored: "db"))
        try await store.configure(queue, .create(policy, ifAbsent: false))
        let many = (1...1000).map { NewMessage.text("\($0)", priority: $0 % 3, group: "group \($0 % 40)") }
        for _ in 1...3 { _ = try await store.enqueue(many, to: queue, durability: .processCrash) }
        try await analyze(isAnalyzed)
        try await store.put(.text("full", group: "group 1"), to: queue)
        _ = try await store.enqueue(Array(many.prefix(5)), to: queue, durability: .processCrash)
        let messages = try await store.take(30, from: queue, lease: .seconds(3600))
        #expect(try await store.take(30, from: queue).count == 10)
        #expect(try await store.take(30, from: queue).isEmpty)
        _ = try await store.settle(
            messages[0..<10].map { Settlement($0.lease, .done) }
                + [
                    Settlement(messages[10].lease, .dead(error: "e")),
                    Settlement(messages[11].lease, .retry(error: "e")),
                ]
                + [Settlement(messages[12].lease, .release)])
        _ = try await store.apply(.discard, to: [messages[10].lease.sequence])
        _ = try await store.apply(.cancel, to: [messages[13].lease.sequence])
        _ = try await store.groups(GroupQuery(queue: queue, key: "group 1"))
        try await expectSearches([
            ("FROM penstock_blocked\nWHERE queue_id = ?1 AND group_key = ?2 AND priority < ?3", "PRIMARY KEY"),
            ("DELETE FROM penstock_permit", "PRIMARY KEY (queue_id=? AND group_key=? AND sequence=?)"),
            ("DELETE FROM penstock_blocked", "penstock_blocked_sequence (queue_id=? AND sequence=?)"),
            ("SELECT sequence FROM penstock_blocked WHERE queue_id = ?1", "penstock_blocked_sequence (queue_id=?)"),
            ("SELECT queue.id, queue.name, (SELECT leased", "penstock_queue_share_limit (share_limit=?)"),
            ("SELECT queue.id, queue.name, (SELECT leased", "penstock_depth USING INTEGER PRIMARY KEY (rowid=?)"),
        ])
        try await store.close()
    }
}
