import Foundation
import GRDB
import PenstockConformance
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Deleting a queue, and what programs without this library do meanwhile.
@Suite(.timeLimit(.minutes(5))) struct DeletionTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// A queue with more ended messages than one step deletes.
    private func fill(_ store: SQLiteStore) async throws {
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        _ = try await store.append(
            (1...2500).map { .text("\($0)") }, to: .jobs, unless: nil, durability: .processCrash)
    }

    /// Its permits go with its last row.
    @Test func aQueueWithGroupsIsSoundWhileItIsUnderWay() async throws {
        let looks = Tally()
        let store = try await harness.openStore(afterStep: { [path, time = harness.time] in
            let report = try await SQLiteStore.inspectHealth(path: path, time: time)
            #expect(report.findings.filter { $0.severity == .error } == [])
            looks.add()
        })
        try await store.configure(.jobs, .create(QueuePolicy(groups: .limit(2)), ifAbsent: false))
        let messages = (1...3000).map { _ in NewMessage.text("x", group: "g") }
        _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        try await store.configure(.jobs, .delete(force: true))
        #expect(looks.count > 1)
        try await store.close()
    }

    /// As when a server goes away.
    @Test func aStoreThatFailsInTheMiddleIsNotToldAsNothingDone() async throws {
        let left = Countdown(2)
        let store = try await harness.openStore(afterStep: {
            do { try left.step() } catch { throw PenstockError(.unreachable, "The server is gone; nothing was done.") }
        })
        try await fill(store)
        let error = await #expect(throws: PenstockError.self) {
            try await store.configure(.jobs, .delete(force: true))
        }
        #expect(
            error?.message
                == "The server is gone; nothing more was done. The queue is being deleted, and takes no messages: delete it again."
        )
        try await store.close()
    }

    @Test func plainSQLIsRefusedWhileItIsUnderWay() async throws {
        let program = Mutex<ForeignProgram?>(nil)
        let refusals = Mutex<[String]>([])
        let store = try await harness.openStore(afterStep: { [path] in
            let shell = try await SQLiteShell(path: path).run(
                "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'late')")
            #expect(!shell.succeeded)
            refusals.withLock { $0.append(shell.errors) }
            let rows = try await program.withLock { $0 }?.rows("SELECT queue, deleting FROM penstock_queues")
            #expect(rows == ["jobs|1"])
        })
        program.withLock { $0 = try? ForeignProgram(path) }
        try await fill(store)
        try await store.configure(.jobs, .delete(force: false))
        let said = refusals.withLock { $0 }
        #expect(said.count == 3)
        #expect(said.allSatisfy { $0.contains("the queue is being deleted") }, "\(said)")
        try await store.close()
    }

    /// What a program writes that goes round both the library and the view, such as an older release that has the file
    /// open still.
    @Test func whatWaitsAllTheSameEndsTheDeletion() async throws {
        let step = Mutex(0)
        let store = try await harness.openStore(afterStep: { [path] in
            guard
                step.withLock({
                    $0 += 1; return $0
                }) == 2
            else { return }
            let program = try ForeignProgram(path)
            try await program.run(
                """
                BEGIN;
                INSERT INTO penstock_log (sequence, queue_id, enqueued_at, payload) VALUES (2501, 1, 0, x'41');
                INSERT INTO penstock_ready VALUES (1, 0, 0, 2501, 0, 0, 0, NULL);
                UPDATE penstock_depth SET ready = ready + 1;
                UPDATE penstock_state SET last_sequence = 2501;
                COMMIT
                """)
            try program.close()
        })
        try await fill(store)
        let error = await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        #expect(error?.message.contains("1 message that waits or runs") == true)
        #expect(try await store.take(9).map { String(decoding: $0.payload, as: UTF8.self) } == ["A"])
        try await store.configure(.jobs, .delete(force: true))
        #expect(try await store.status(of: nil).queues.isEmpty)
        try await store.close()
    }

    /// Depths that are wrong do not let a message be deleted.
    @Test func theRowsAreAskedWhetherMessagesWait() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await store.put(.text("waits"))
        try await ForeignProgram(path).run("UPDATE penstock_depth SET ready = 0")
        await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        #expect(try await store.texts() == ["waits"])
        try await store.close()
    }

    /// Each of these grows with the keys or groups of a queue, of which it may have millions and no message.
    @Test(arguments: [
        "unique_period (queue_id, unique_key, sequence, until) SELECT 1, number, 1, 9999999999999999",
        "permit (queue_id, group_key, sequence) SELECT 1, number % 7, number",
        "group_rate (queue_id, group_key, tat) SELECT 1, number, 0",
        "share (queue_id, priority, group_key, next_turn, again_turn) SELECT 1, number % 3, number, 1, 1",
        "weight (queue_id, group_key, weight) SELECT 1, number, 2",
    ])
    func keysAndGroupsGoInSteps(rows: String) async throws {
        let table = "penstock_" + rows.prefix { $0 != " " }
        let left = Mutex<[Int]>([])
        let store = try await harness.openStore(afterStep: { [path] in
            let count = try await ForeignProgram(path).number("SELECT count(*) FROM \(table)")
            left.withLock { $0.append(count) }
        })
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await ForeignProgram(path).run(
            """
            WITH RECURSIVE numbers(number) AS (
                SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 25000)
            INSERT INTO penstock_\(rows) FROM numbers
            """)
        try await store.configure(.jobs, .delete(force: false))
        #expect(left.withLock { $0 } == [25_000, 15_000, 5000])
        #expect(try await ForeignProgram(path).number("SELECT count(*) FROM \(table)") == 0)
        try await store.close()
    }

    /// One rule of eight, as each queue that goes costs a flush, and none that leaves much of the same.
    private static let someRules = ConformanceCase.sample(oneOf: 8, lot: 3)
        .filter { !$0.name.hasPrefix("a year of") && !$0.name.hasPrefix("random graphs") }

    @Test func someRulesAreOfMostSubjects() {
        #expect(Self.someRules.count > ConformanceCase.all.count / 12)
        let subjects = Set(Self.someRules.map(\.subject))
        #expect(subjects.count > Set(ConformanceCase.all.map(\.subject)).count / 2)
        let kinds = ["fair queues", "groups", "group rates", "groups that wait", "rates", "schedule", "workflow"]
        #expect(subjects.isSuperset(of: kinds), "\(kinds.filter { !subjects.contains($0) })")
    }

    /// What the rules leave behind is of every kind.
    @Test(arguments: someRules)
    func whateverAMessageIsItGoesWithAllOfIt(_ rule: ConformanceCase) async throws {
        try await rule.run(on: harness)
        guard FileManager.default.fileExists(atPath: path) else { return }
        let store = try await harness.openStore()
        #expect(try await findings() == [], "what \(rule) leaves")
        _ = try await store.prune(PruneRequest(retention: Retention(age: .zero, deadAge: .zero)))
        #expect(try await findings() == [], "after pruning what \(rule) leaves")
        for queue in try await store.status(of: nil).queues {
            try await store.configure(queue.name, .delete(force: true))
            #expect(try await findings() == [], "without \(queue.name) of \(rule)")
        }
        try await store.close()
        let left = try await DatabaseQueue(path: path).read { database in
            let tables = try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'penstock%'")
            return try tables.filter { table in
                let columns = try database.columns(in: table).map(\.name)
                // A number that is 0 is none. No queue is left, so no row is to name one.
                let names = [("sequence", "sequence > 0"), ("queue_id", "queue_id IS NOT NULL")]
                    .filter { columns.contains($0.0) }.map(\.1).joined(separator: " OR ")
                if names.isEmpty || Self.keepsNumbers.contains(table) { return false }
                return try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE \(names)") != 0
            }
        }
        #expect(left == [], "of \(rule)")
    }

    /// Tables in which the number of a message stays that is gone, and that of its queue.
    private static let keepsNumbers: Set<String> = ["penstock_quarantine"]

    private func findings() async throws -> [HealthFinding.Kind] {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings.filter { $0.severity == .error }
            .map(\.kind)
    }
}
