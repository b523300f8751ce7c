import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Scopes of unique keys in a file that others write as well: by hand, or wrongly.
@Suite(.timeLimit(.minutes(5))) struct KeyScopeFileTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private static func message(_ key: String, _ scope: KeyScope) -> NewMessage {
        NewMessage(payload: [], uniqueKey: UniqueKey(key, scope: scope))
    }

    /// A file with keys of all scopes: 1 was done and holds `past` for a period. 2 and 3 are leased, and held `leased` and `both`
    /// while they waited. 4 has `both` by now. 5 is ready and holds `ready`, 6 holds `period`, 7 holds `ended` to its end.
    private func makeFile() async throws -> SQLiteStore {
        let store = try await harness.openWithJobs()
        try await store.put(Self.message("past", .period(.seconds(1000))))
        _ = try await store.settle(try await store.take(1).map { Settlement($0.lease, .done) })
        try await store.put(Self.message("leased", .whileWaiting))
        try await store.put(Self.message("both", .whileWaiting))
        #expect(try await store.take(2).count == 2)
        for (key, scope) in [
            ("both", KeyScope.whileWaiting), ("ready", .whileWaiting), ("period", .period(.seconds(1000))),
            ("ended", .untilEnded),
        ] {
            try await store.put(Self.message(key, scope))
        }
        return store
    }

    private func held() async throws -> [String] {
        try await ForeignProgram(path).rows(
            """
            SELECT unique_key || ' ' || sequence FROM penstock_unique
            UNION ALL SELECT unique_key || ' ' || sequence FROM penstock_unique_period ORDER BY 1
            """)
    }

    private static let sound = ["both 4", "ended 7", "past 1", "period 6", "ready 5"]

    @Test func aSoundFileIsFoundSound() async throws {
        let store = try await makeFile()
        #expect(try await held() == Self.sound)
        #expect(try await harness.findings() == [])
        // A message that came back without its key, and a period whose message is forgotten, are as they are to be.
        let leased = try await store.messages(MessageQuery(states: [.leased])).map(\.sequence)
        try await harness.crash(store)
        let again = try await harness.openStore()
        #expect(try await again.reclaim().fromDeadWorkers == leased.count)
        _ = try await again.prune(PruneRequest(retention: Retention(age: .zero)))
        #expect(try await held() == ["both 4", "ended 7", "leased 2", "past 1", "period 6", "ready 5"])
        #expect(try await harness.findings() == [])
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [])
        try await again.close()
    }

    /// What was done to the file by hand, what is set aside, and which message holds which key in the end.
    @Test(arguments: [
        ("DELETE FROM penstock_unique WHERE sequence = 5", [], sound),
        ("DELETE FROM penstock_unique WHERE sequence = 7", [], sound),
        ("INSERT INTO penstock_unique VALUES (1, 'leased', 2, NULL)", ["unique 2"], sound),
        ("INSERT INTO penstock_unique VALUES (1, 'period', 6, NULL)", ["unique 6"], sound),
        ("UPDATE penstock_ready SET marks = 32 WHERE sequence = 5", [], sound),
        ("UPDATE penstock_ready SET marks = 1 WHERE sequence = 5", [], sound),
        ("UPDATE penstock_ready SET marks = 33 WHERE sequence = 7", [], sound),
        ("UPDATE penstock_lease SET marks = 33 WHERE sequence = 2", [], sound),
        ("UPDATE penstock_lease SET marks = 0 WHERE sequence = 2", [], sound),
        (
            "UPDATE penstock_log SET unique_key = 'other' WHERE sequence = 6", ["unique_period 6"],
            ["both 4", "ended 7", "past 1", "ready 5"]
        ),
        (
            "UPDATE penstock_log SET key_scope = 0 WHERE sequence = 6", ["unique_period 6"],
            ["both 4", "ended 7", "past 1", "ready 5"]
        ),
        (
            "UPDATE penstock_log SET key_scope = 5000 WHERE sequence = 5", ["unique 5"],
            ["both 4", "ended 7", "past 1", "period 6"]
        ),
        ("INSERT INTO penstock_unique_period VALUES (9, 'lost', 1, 1, NULL)", ["unique_period 1"], sound),
        ("UPDATE penstock_unique_period SET until = -1 WHERE sequence = 6", ["unique_period 6"], sound),
    ])
    func whatIsFoundIsRepaired(_ sql: String, _ aside: [String], _ holders: [String]) async throws {
        let store = try await makeFile()
        let program = try ForeignProgram(path)
        try await program.run(sql)
        #expect(try await !harness.findings().isEmpty)
        let done = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(!done.repairs.isEmpty)
        #expect(try await harness.findings() == [])
        #expect(
            try await program.rows("SELECT source || ' ' || sequence FROM penstock_quarantine ORDER BY 1")
                == aside.map { "penstock_\($0)" })
        #expect(try await held() == holders)
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [], "Once is enough.")
        // Everything goes on to its end, and lets go of what is not held for a period.
        _ = try await store.settle(try await store.take(9).map { Settlement($0.lease, .done) })
        try await harness.crash(store)
        let again = try await harness.openStore()
        _ = try await again.reclaim()
        _ = try await again.settle(try await again.take(9).map { Settlement($0.lease, .done) })
        #expect(try await harness.findings() == [])
        #expect(try await program.rows("SELECT * FROM penstock_unique") == [])
        try await again.close()
    }

    /// Else each firing would hold the key until a time that cannot be, and do so again after each repair.
    @Test func aPeriodThatCannotBeIsTheLongest() async throws {
        let store = try await harness.openWithJobs()
        let schedule = Schedule(queue: .jobs, spec: "@daily", message: Self.message("k", .period(.seconds(60))))
        let name = ScheduleName(stored: "s")
        try await store.schedule(name, .put(schedule, replacing: false))
        try await ForeignProgram(path).run("UPDATE penstock_schedule SET key_scope = \(Int64(1) << 62)")
        try await store.schedule(name, .run)
        #expect(try await held() == ["k 1"])
        #expect(try await harness.findings() == [])
        harness.time.advance(by: Limits.keyPeriodRange.upperBound)
        #expect(try await !store.put(Self.message("k", .whileWaiting)).skipped)
        try await store.close()
    }

    @Test func aRestoreGivesKeysBack() async throws {
        let store = try await makeFile()
        let backup = harness.folder.file("backup.db")
        try await ForeignProgram(path).run("VACUUM INTO '\(backup)'")
        try await store.close()
        let target = harness.folder.file("restored.db")
        #expect(try await SQLiteStore.restore(from: backup, to: target).released == 2)
        let restored = try await SQLiteStore.open(path: target, options: .init(time: harness.time))
        let program = try ForeignProgram(target)
        #expect(
            try await program.rows("SELECT unique_key, sequence FROM penstock_unique ORDER BY 1")
                == ["both|4", "ended|7", "leased|2", "ready|5"])
        #expect(
            try await program.rows("SELECT sequence, marks FROM penstock_ready ORDER BY 1")
                == ["2|33", "3|32", "4|33", "5|33", "6|0", "7|1"])
        #expect(try await SQLiteStore.inspectHealth(path: target, time: harness.time).isHealthy)
        try await restored.close()
    }

    /// Rows of periods that are over go with a pruning, so many in a step, and others stay.
    @Test func periodsThatAreOverAreForgotten() async throws {
        let store = try await harness.openStore()
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        }
        let program = try ForeignProgram(path)
        let past = harness.time.now.microseconds
        try await program.run(
            """
            INSERT INTO penstock_unique_period (queue_id, unique_key, sequence, until)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
            SELECT 1, 'key ' || i, 1, \(past) FROM n
            """)
        try await program.run("INSERT INTO penstock_unique_period VALUES (2, 'past', 1, \(past), NULL)")
        try await store.put(Self.message("lives", .period(.seconds(10))))
        func count() async throws -> [String] {
            try await program.rows("SELECT queue_id, count(*) FROM penstock_unique_period GROUP BY 1")
        }
        #expect(try await store.prune(PruneRequest(limit: 1)).hasMore)
        #expect(try await count() == ["1|51", "2|1"])
        #expect(try await !store.prune(PruneRequest(limit: 1)).hasMore)
        #expect(try await count() == ["1|1"])
        harness.time.advance(by: .seconds(10))
        #expect(try await count() == ["1|1"])
        try await store.put(Self.message("lives", .untilEnded))
        #expect(try await count() == [], "Whoever has the key next takes the row's place.")
        try await store.close()
    }

    // MARK: Plain INSERTs

    @Test func aPlainInsertHoldsItsKeyByItsScope() async throws {
        let store = try await SQLiteStore.openWithJobs(harness.folder.file("plain.db"))
        let program = try ForeignProgram(harness.folder.file("plain.db"))
        func insert(_ key: String, _ scope: String, _ verb: String = "INSERT") async throws {
            try await program.run(
                """
                \(verb) INTO penstock_messages (queue, payload, unique_key, key_scope)
                VALUES ('jobs', '\(key)', '\(key)', \(scope))
                """)
        }
        for (key, scope) in [("a", "NULL"), ("b", "0"), ("c", "1000"), ("d", "31622400000000")] {
            try await insert(key, scope)
        }
        #expect(
            try await store.messages(MessageQuery()).map(\.keyScope) == [
                .untilEnded, .whileWaiting, .period(.milliseconds(1)), .period(.seconds(366 * 24 * 3600)),
            ])
        #expect(
            try await program.rows("SELECT payload, key_scope FROM penstock_messages ORDER BY sequence")
                == ["a|NULL", "b|0", "c|1000", "d|31622400000000"])
        #expect(try await store.put(.text("x", key: "b")).skipped)
        let messages = try await store.take(9)
        #expect(try await !store.put(.text("x", key: "b")).skipped)
        for (key, words) in [("a", "waits or runs already"), ("b", "waits or runs already"), ("d", "holds it still")] {
            let error = await #expect(throws: DatabaseError.self) { try await insert(key, "0") }
            #expect(error?.message == "penstock: a message with that unique_key \(words)")
        }
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        // A period that is over is in nobody's way, in whatever way SQLite is told to go round conflicts.
        for verb in ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL"] {
            for scope in ["5000000", "0"] {
                try await program.run("UPDATE penstock_unique_period SET until = 1 WHERE unique_key = 'd'")
                try await program.run("DELETE FROM penstock_unique WHERE unique_key = 'd'")
                try await insert("d", scope, verb)
                let last = try await program.rows("SELECT last_sequence FROM penstock_state")
                #expect(
                    try await program.rows(
                        """
                        SELECT sequence FROM penstock_unique WHERE unique_key = 'd'
                        UNION ALL SELECT sequence FROM penstock_unique_period WHERE unique_key = 'd'
                        """) == last, "\(verb) \(scope)")
            }
        }
        try await store.close()
    }
}
