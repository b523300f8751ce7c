import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The numbers that are kept are those that a count gives, whoever wrote the rows.
@Suite(.timeLimit(.minutes(5))) struct CountersTests {
    private static let policies: [QueuePolicy] =
        [QueuePolicy(retry: RetryPolicy(attemptsMax: 3))]
        + OverflowPolicy.allCases.map { .bounded(4, $0) }

    /// Several processes and the sqlite3 shell at once, each doing whatever it likes.
    @Test(arguments: policies) func depthsAreWhatACountGives(_ policy: QueuePolicy) async throws {
        let harness = SQLiteHarness()
        let first = try await harness.openStore()
        try await first.configure(.jobs, .create(policy, ifAbsent: false))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for process in 1...3 {
                group.addTask { try await Self.live(UInt64(process), try await harness.openStore()) }
            }
            let path = harness.path
            group.addTask {
                let program = try ForeignProgram(path)
                for number in 1...80 {
                    let due = number % 4 == 0 ? "'2024-12-31T23:59:59Z'" : "NULL"
                    let key = number % 3 == 0 ? "'key \(number % 5)'" : "NULL"
                    // Full queues and taken keys are refused now and then; that must not count either.
                    try? await program.run(
                        """
                        INSERT INTO penstock_messages (queue, payload, priority, due_at, unique_key)
                        VALUES ('jobs', 'sql \(number)', \(number % 3), \(due), \(key))
                        """)
                }
            }
            try await group.waitForAll()
        }
        _ = try await first.reclaim()
        let report = try await SQLiteStore.inspectHealth(path: harness.path, time: harness.time)
        #expect(report.findings == [])
        let totals = try #require(try await first.status(of: .jobs).queues.first).totals
        let depths = try await first.depths()
        #expect(totals.enqueued == depths.scheduled + depths.ready + depths.leased + depths.dead + depths.kept)
        try await first.close()
    }

    private static func live(_ seed: UInt64, _ store: SQLiteStore) async throws {
        let random = SeededRandom(seed: seed)
        var held: [Lease] = []
        for number in 1...60 {
            switch random.next(in: 0...6) {
            case 0, 1:
                let key =
                    random.chance(0.4)
                    ? UniqueKey("key \(random.next(in: 0...4))", onConflict: random.chance(0.5) ? .skip : .replace)
                    : nil
                let message = NewMessage(
                    payload: Array("\(seed) \(number)".utf8), priority: random.next(in: -1...1),
                    due: random.chance(0.3) ? .after(.milliseconds(random.next(in: 1...50))) : .now, uniqueKey: key)
                do {
                    _ = try await store.enqueue([message, message], to: .jobs, durability: .processCrash)
                } catch let error as PenstockError {
                    #expect(error.code == .queueFull)
                }
            case 2, 3: held += try await store.take(random.next(in: 1...4)).map(\.lease)
            case 4:
                let verdicts: [Verdict] = [.done, .retry(error: "e"), .dead(error: "e"), .release]
                let settlements = held.prefix(3).map { Settlement($0, random.pick(verdicts) ?? .done) }
                held.removeFirst(settlements.count)
                _ = try await store.settle(settlements)
            case 5:
                let command = random.pick(LineCommand.allCases) ?? .cancel
                _ = try await store.apply(
                    command, to: .queue(.jobs, states: Set(MessageState.allCases), limit: random.next(in: 0...2)))
            default: _ = try await store.reclaim()
            }
        }
        if seed == 1 { await store.crash() } else { try await store.close() }
    }
}
