import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The statements that remove messages.
extension QueryPlanTests {
    /// A step of a deletion takes what is next by its number, and not past all that is left of the queue.
    @Test(arguments: [false, true]) func whatGoesInAStepIsFoundByItsNumber(_ isAnalyzed: Bool) async throws {
        let later = (1...300).map { number in
            NewMessage.text("\(number)", due: .after(.seconds(86_400)), expiry: .after(.seconds(90_000)))
        }
        let receipts = try await store.enqueue(later, to: .jobs, durability: .processCrash)
        let event = NewEvent(try EventName("e"))
        for receipt in receipts where receipt.sequence.rawValue.isMultiple(of: 2) {
            _ = try await store.emit(event, to: .message(receipt.sequence), durability: .processCrash)
        }
        let every = receipts.map(\.sequence).filter { $0.rawValue.isMultiple(of: 2) }
        _ = try await store.apply(.cancel, to: .sequences(every))
        try await analyze(isAnalyzed)
        _ = try await store.prune(PruneRequest(queue: .jobs, retention: Retention(age: nil, count: 50)))
        try await store.configure(.jobs, .delete(force: true))
        let plans = try await plans()
        for (text, place) in [
            ("DELETE FROM penstock_scheduled WHERE +queue_id", "PRIMARY KEY (rowid>? AND rowid<?)"),
            ("DELETE FROM penstock_expiry WHERE +queue_id", "PRIMARY KEY (rowid>? AND rowid<?)"),
            ("DELETE FROM penstock_event WHERE workflow_id = 0 AND sequence IN", "(workflow_id=? AND sequence=?)"),
            (
                "DELETE FROM penstock_ready WHERE queue_id = ?1 AND sequence",
                "(queue_id=? AND priority=? AND turn=? AND sequence>? AND sequence<?)"
            ),
            (
                "DELETE FROM penstock_unique_period WHERE queue_id = ?1 AND (unique_key)",
                "(queue_id=? AND unique_key=?)"
            ),
            (
                "DELETE FROM penstock_permit WHERE queue_id = ?1 AND (group_key",
                "(queue_id=? AND group_key=? AND sequence=?)"
            ),
            ("DELETE FROM penstock_group_rate WHERE queue_id = ?1 AND (group_key)", "(queue_id=? AND group_key=?)"),
            (
                "DELETE FROM penstock_share WHERE queue_id = ?1 AND priority = (SELECT",
                "(queue_id=? AND priority=? AND group_key=?)"
            ),
        ] {
            let found = try #require(plans.first { $0.sql.contains(text) }, "\(text)")
            #expect(found.steps.contains { $0.contains(place) }, "\(found)")
        }
    }
}
