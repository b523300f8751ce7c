import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The moment by which a rate lets a message start is the one that is written down as its start.
@Suite(.timeLimit(.minutes(5))) struct RateMomentTests {
    private let harness = SQLiteHarness()

    /// A transaction of a busy machine takes its time. What starts late in it is said to have started when it began.
    @Test(arguments: [false, true]) func aLongTransactionStartsWhatMayStartAtItsBeginning(isPerKey: Bool) async throws {
        let store = try await harness.openStore()
        let rate = Rate(1, per: .seconds(60))
        let policy = isPerKey ? QueuePolicy(groups: .limit(2), ratePerKey: rate) : QueuePolicy(rate: rate)
        try await store.configure(.jobs, .create(policy, ifAbsent: false))
        for text in ["first", "second"] { try await store.put(.text(text, group: isPerKey ? "a" : nil)) }
        let counts = try await store.core.writer.perform {
            [worker = store.core.worker, time = harness.time] transaction in
            let request = ClaimRequest(queue: .jobs, limit: 9, lease: .seconds(3600))
            let first = try Claiming.perform(request, limit: 9, worker: worker, in: transaction)
            time.advance(by: .seconds(61))
            let second = try Claiming.perform(request, limit: 9, worker: worker, in: transaction)
            return [first.messages.count, second.messages.count]
        }
        #expect(counts == [1, 0])
        #expect(try await store.take(9).count == 1, "Its time has come.")
        try await store.close()
    }

    /// A part of a transaction that is undone takes along that the numbers were reckoned anew for a machine that was started anew.
    @Test func whatIsUndoneLeavesTheNumbersOnTheirClock() async throws {
        struct Undone: Error {}
        let store = try await harness.openStore()
        let policy = QueuePolicy(rate: Rate(1, per: .seconds(60)))
        try await store.configure(.jobs, .create(policy, ifAbsent: false))
        for text in ["first", "second"] { try await store.put(.text(text)) }
        #expect(try await store.take(9).count == 1)
        harness.time.reboot(after: .seconds(30))
        let left = try await store.core.writer.perform { transaction -> Duration? in
            let account = try transaction.account(of: .jobs)
            try? transaction.nested { () throws -> Void in
                _ = try Rates.opens(account, in: transaction)
                throw Undone()
            }
            return try Rates.opens(account, in: transaction).map { $0 - transaction.now }
        }
        #expect(left == .seconds(30))
        try await store.close()
    }
}
