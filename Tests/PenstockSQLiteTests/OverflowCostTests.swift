import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What it costs to put a batch into a queue that is full, by the pages that SQLite looks at.
@Suite(.timeLimit(.minutes(1))) struct OverflowCostTests {
    private let harness = SQLiteHarness()

    /// A pipeline that drops what is old fills its queue once, and is full from then on. A message that is dropped is looked for, and gets its
    /// row among those that have ended: a few pages more, where one by one they were many.
    @Test(arguments: [OverflowPolicy.dropOldest, .dropNewest])
    func aFullQueueCostsLittleMoreThanOneWithRoom(_ policy: OverflowPolicy) async throws {
        let store = try await harness.openStore()
        let full = QueuePolicy(capacity: Capacity(1000, whenFull: policy))
        try await store.configure(.jobs, .create(full, ifAbsent: true))
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        let batch = (1...1000).map { NewMessage.text("\($0)") }
        var pages: [Int] = []
        for queue in [QueueName.mail, .jobs] {
            _ = try await store.enqueue(batch, to: queue, durability: .processCrash)
            let count = try await store.pages {
                _ = try await store.enqueue(batch, to: queue, durability: .processCrash)
            }
            pages.append(count)
        }
        #expect(pages[1] < 8 * pages[0], "\(pages)")
        #expect(try await store.status(of: .jobs).queues.first?.totals.dropped == 1000)
        try await store.close()
    }
}
