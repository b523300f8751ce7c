import PenstockCore
import PenstockSchedules
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Firings by the thousand, as after a weekend without a worker: others write between two steps.
@Suite(.timeLimit(.minutes(5))) struct FiringStepTests {
    private let harness = SQLiteHarness()

    @Test func oneTransactionEnqueuesSoManyAtMost() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let count = Firing.stepMax / FiringRule.stepMax + 2
        for number in 1...count {
            let schedule = Schedule(queue: .jobs, spec: "* * * * *", message: .text("report"), missed: .all)
            try await store.schedule(ScheduleName("s\(number)"), .put(schedule, replacing: false))
        }
        harness.time.advance(by: .seconds(60 * FiringRule.stepMax))
        let hasMore = try await store.core.writer.perform { transaction in
            try Firing.fireDue(of: nil, in: transaction)
        }
        #expect(hasMore)
        #expect(try await store.depths().ready == Firing.stepMax)
        _ = try await store.fire()
        #expect(try await store.depths().ready == count * FiringRule.stepMax)
        try await store.close()
    }
}
