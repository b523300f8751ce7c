import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Groups that wait for their time, in a file that others write as well: by hand, or wrongly, or die as they do.
@Suite(.timeLimit(.minutes(5))) struct GroupRateFileTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// A file in which message 1 has started and 2 waits for the rate of its group.
    private func makeFile(_ rate: Rate? = Rate(1, per: .seconds(60))) async throws -> SQLiteStore {
        let store = try await harness.openStore()
        let policy = QueuePolicy(groups: .limit(1), ratePerKey: rate)
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        for _ in 1...2 { try await store.put(.text("a", group: "a")) }
        let first = try await store.take(1)
        _ = try await store.settle(first.map { Settlement($0.lease, .done) })
        return store
    }

    private func claim(_ store: SQLiteStore) async throws -> Claim {
        try await store.claim(ClaimRequest(queue: .jobs, limit: 100, lease: .seconds(30)))
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings.filter { $0.severity == .error }
    }

    /// What a group waits for may be gone: then `why` and the doctor tell of it, and a resume ends it.
    @Test func aGroupThatWaitsForNothingIsToldOfAndCanBeResumed() async throws {
        let store = try await makeFile()
        #expect(try await findings().isEmpty)
        let program = try ForeignProgram(path)
        // Without its triggers.
        try await program.run(
            """
            DELETE FROM penstock_permit;
            UPDATE penstock_group_rate SET tat = 0, opens_at = opens_at + 3600000000;
            UPDATE penstock_queue SET key_rate_count = NULL, key_rate_period = NULL;
            DELETE FROM penstock_regroup
            """)
        let opens = harness.time.now + .seconds(3660)
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes == [.groupRate(opens: opens)])
        #expect(try await findings().map(\.kind) == [.wrongPermits])
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await findings().isEmpty)
        #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [2])
        try await store.close()
    }

    /// A group that waits for a rate which was taken away before the schema saw to that, with nothing in line.
    @Test func anOlderFileInWhichAGroupWaitsForNothingIsPutRight() async throws {
        let older = harness.folder.file("older.db")
        let (boot, now) = (harness.time.boot, harness.time.now)
        try await makeOlderFile(version: 24, at: older)
        try await ForeignProgram(older).run(
            """
            INSERT INTO penstock_queue (name, limit_per_key) VALUES ('jobs', 1);
            INSERT INTO penstock_rate (queue_id, tat, clock, wall_offset)
                VALUES (1, NULL, '\(boot.bootID)', \(boot.microseconds - now.microseconds));
            INSERT INTO penstock_group_rate (queue_id, group_key, tat, opens_at)
                VALUES (1, 'a', 0, \(boot.microseconds + 86_400_000_000));
            """)
        let store = try await SQLiteStore.open(path: older, options: SQLiteStore.Options(time: harness.time))
        try await store.put(.text("a", group: "a"))
        #expect(try await store.take(9).count == 1)
        try await store.close()
    }

    @Test func numbersOnNoClockAreFoundAndRepaired() async throws {
        let store = try await makeFile()
        let program = try ForeignProgram(path)
        try await program.run("DELETE FROM penstock_rate")
        let found = try await findings()
        #expect(found.map(\.kind) == [.wrongPermits])
        #expect(found.first?.queue == .jobs)
        try await store.close()
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await findings().isEmpty)
        let again = try await harness.openStore()
        #expect(try await claim(again).messages.count == 1, "What had started is forgotten with the clock.")
        try await again.close()
    }

    /// An idle worker claims when it is told to. It must not be told to at once, again and again.
    @Test func numbersOnNoClockKeepNobodyBusy() async throws {
        let store = try await makeFile()
        try await ForeignProgram(path).run("DELETE FROM penstock_rate")
        for _ in 1...3 {
            let claim = try await claim(store)
            #expect(claim.messages.isEmpty)
            #expect(claim.nextDue == harness.time.now + .seconds(60))
        }
        #expect(try await findings().isEmpty)
        harness.time.advance(by: .seconds(60))
        #expect(try await store.take(9).count == 1)
        try await store.close()
    }

    /// Whoever has put them in line may have died before he rang.
    @Test(arguments: [true, false]) func whoLooksFindsWhatWaitsForItsTime(_ isExpiry: Bool) async throws {
        let store = try await makeFile(isExpiry ? nil : Rate(1, per: .seconds(60)))
        if isExpiry {
            _ = try await store.take(9)
            _ = try await store.enqueue(
                [.text("a", group: "a", expiry: .after(.seconds(9)))], to: .jobs, durability: .processCrash)
        }
        #expect(try await store.depths().ready == 0)
        let poller = ChangePoller(path: path, folder: try SharedFolder(besideDatabaseAt: path), time: harness.time)
        #expect(try poller.look(forTheDead: false).buckets.contains(RingBucket.of(.jobs)))
        poller.close()
        try await store.close()
    }

    /// A worker that drains would end otherwise, with work in line that nobody has looked at.
    @Test func aClaimThatHasLookedAtManyGroupsIsToBeMadeAgain() async throws {
        let store = try await harness.openStore()
        let policy = QueuePolicy(groups: .limit(1), ratePerKey: Rate(1, per: .seconds(60)))
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        let count = Limits.regroupCountMax + 1
        for _ in 1...2 {
            // By their names as by their numbers.
            let messages = (1...count).map { NewMessage.text("x", group: "group \(10_000 + $0)") }
            _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        }
        let started = try await store.take(count)
        #expect(started.count == count)
        _ = try await store.settle(started.map { Settlement($0.lease, .done) })
        // Of all but the last one nothing is left that waits for its time.
        let blocked = Selection.queue(.jobs, states: [.blocked], limit: count - 1)
        #expect(try await store.apply(.cancel, to: blocked) == count - 1)
        harness.time.advance(by: .seconds(60))
        let first = try await claim(store)
        #expect(first.messages.isEmpty && first.isWithheld)
        #expect(first.nextDue == harness.time.now)
        #expect(try await claim(store).messages.map(\.group) == ["group \(10_000 + count)"])
        try await store.close()
    }

    /// A claim of many groups writes on which clock their numbers are once, and reads each group's row once.
    @Test func aClaimOfManyGroupsReadsEachRowOnce() async throws {
        let statements = Statements()
        let store = try await statements.store(at: harness.folder.file("counted.db"))
        let policy = QueuePolicy(groups: .limit(1), ratePerKey: Rate(1, per: .seconds(60)))
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        for _ in 1...2 {
            _ = try await store.enqueue(
                (1...20).map { .text("x", group: "group \($0)") }, to: .jobs, durability: .processCrash)
        }
        _ = statements.take()
        #expect(try await store.take(20).count == 20)
        let ran = statements.take()
        #expect(ran.count { $0.contains("INSERT OR IGNORE INTO penstock_rate") } == 1)
        #expect(ran.count { $0.contains("SELECT tat, held_until, opens_at FROM penstock_group_rate") } == 20)
        try await store.close()
    }
}
