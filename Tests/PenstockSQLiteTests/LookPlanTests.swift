import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// The statements by which messages are found that match a filter.
extension QueryPlanTests {
    @Test(arguments: [false, true]) func lookingForMessagesGoesByIndexes(_ isAnalyzed: Bool) async throws {
        let keyed = (1...500).map { NewMessage.text("\($0)", key: "key \($0)") }
        _ = try await store.enqueue(keyed, to: .mail, durability: .processCrash)
        try await analyze(isAnalyzed)
        let filter = MessageFilter(
            headers: ["n": "1"], payloadContains: "p", errorContains: "e", signature: ErrorSignature(.rejected, "e"))
        for states in [nil, [.dead], [.ready, .done]] as [Set<MessageState>?] {
            for end in [MessageQuery.End.first, .last] {
                let last = SequenceNumber(8000)
                _ = try await store.messages(
                    MessageQuery(matching: filter, states: states, preceding: last, end: end, limit: 3, lookMax: 50))
            }
        }
        let moments = (since: Timestamp(microseconds: 1), before: SystemTime().now)
        _ = try await store.messages(MessageQuery(since: moments.since, before: moments.before, limit: 3))
        _ = try await store.messages(MessageQuery(matching: MessageFilter(uniqueKey: "key 7"), end: .last))
        _ = try await store.deadGroups(DeadGroupQuery(lookMax: 50))
        _ = try await store.count(.queue(.jobs, states: [.dead], matching: filter), for: .redrive)
        _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead], matching: filter))
        try await expectSearches([
            ("line.unique_key = ?", "penstock_log_unique (unique_key=? AND rowid>?)"),
            ("json_valid", "log USING INTEGER PRIMARY KEY (rowid=?)"),
            ("json_valid", "attempt USING PRIMARY KEY (sequence=?)"),
            ("queue.name, outcome.reason", "outcome USING PRIMARY KEY (queue_id=? AND sequence=?)"),
        ])
        try await store.close()
    }

    /// The ages of the oldest messages. What is leased is no more than what is in hands, and may be looked through.
    @Test(arguments: [false, true]) func agesGoByIndexes(_ isAnalyzed: Bool) async throws {
        let messages = (1...1000).map { NewMessage.text("\($0)", priority: $0 % 5) }
        _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        let claimed = try await store.take(500)
        _ = try await store.settle(claimed.prefix(300).map { Settlement($0.lease, .release) })
        try await analyze(isAnalyzed)
        _ = try await store.status(of: nil)
        let plans = try await plans()
        for (text, index) in [
            ("ORDER BY ready_since", "penstock_ready_since (queue_id=? AND ready_since>?)"),
            ("AND turn = 0", "penstock_ready USING PRIMARY KEY (queue_id=? AND priority=? AND turn=?)"),
            ("INDEXED BY penstock_ready_sequence", "penstock_ready USING INDEX penstock_ready_sequence (queue_id=?)"),
            ("SELECT due_at FROM penstock_scheduled", "penstock_scheduled_due (queue_id=?"),
        ] {
            let plan = plans.first { $0.sql.contains(text) }
            let steps = plan?.steps ?? []
            #expect(steps.contains { $0.contains(index) }, "\(text): \(steps)")
            #expect(!steps.contains { $0.contains("B-TREE") }, "\(text): \(steps)")
        }
        try await store.close()
    }
}
