import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What it costs to give the permits of a group out anew, by the pages that SQLite looks at.
@Suite(.timeLimit(.minutes(5))) struct RegroupCostTests {
    private let folder = TemporaryFolder()

    /// Pages of one step after a change of a queue's policy that gives it groups, with one of which so many messages are ready.
    private func pagesOfAStep(_ messageCount: Int, _ change: String) async throws -> Int {
        let path = folder.file("\(messageCount).db")
        let store = try await SQLiteStore.openWithJobs(path)
        for _ in 1...messageCount / 1000 {
            _ = try await store.enqueue(
                (1...1000).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        }
        try await ForeignProgram(path).run(
            """
            BEGIN;
            UPDATE penstock_log SET group_key = 'a';
            UPDATE penstock_ready SET marks = \(Marks.group.rawValue);
            UPDATE penstock_queue SET \(change);
            COMMIT;
            """)
        // Each claim takes a step, and no message before the last one. The first one reads the schema again.
        #expect(try await store.take().isEmpty)
        let pages = try await store.pages { _ = try await store.take() }
        // The group itself counts as one.
        #expect(try await store.depths().blocked == 2 * (Limits.regroupCountMax - 1))
        try await store.close()
        return pages
    }

    @Test(arguments: ["fifo = 1", "limit_per_key = 5"])
    func aStepReadsNoMoreOfALargeGroup(_ change: String) async throws {
        let few = try await pagesOfAStep(3000, change)
        let many = try await pagesOfAStep(15_000, change)
        #expect(many < few * 3 / 2, "\(few) pages for 3,000 messages, \(many) for 15,000.")
    }
}
