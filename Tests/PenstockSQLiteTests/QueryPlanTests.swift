import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// How SQLite finds the rows of every statement that the store really runs.
@Suite(.timeLimit(.minutes(5))) struct QueryPlanTests {
    private let folder = TemporaryFolder()
    private let statements = Statements()
    let pool: DatabasePool
    let store: SQLiteStore

    /// The SQL that any connection of a pool has run.
    private final class Statements: Sendable {
        private let all = Mutex<Set<String>>([])

        func record(_ sql: String) {
            all.withLock { _ = $0.insert(sql) }
        }

        func take() -> [String] {
            all.withLock { all in
                defer { all = [] }
                return all.sorted()
            }
        }
    }

    init() async throws {
        var configuration = Configuration()
        configuration.prepareDatabase { [statements] database in
            database.trace { event in
                if case .statement(let statement) = event { statements.record(statement.sql) }
            }
        }
        let path = folder.file("queue.db")
        try await FilledFile.content.value.write(to: URL(filePath: path))
        pool = try DatabasePool(path: path, configuration: configuration)
        store = try await SQLiteStore.open(pool: pool)
        _ = statements.take()
    }

    /// What SQLite plans for each statement run since the last time.
    func plans() async throws -> [(sql: String, steps: [String])] {
        let ran = statements.take()
        var plans: [(String, [String])] = []
        let explainer = try DatabaseQueue(path: pool.path)
        for sql in ran where ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(where: sql.hasPrefix) {
            let steps = try await explainer.read { database in
                let statement = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
                // What is bound does not matter for a plan.
                statement.setUncheckedArguments([])
                return try Row.fetchAll(statement).map { $0["detail"] as String }
            }
            plans.append((sql, steps))
        }
        return plans
    }

    /// Tables of a few rows, and results in memory: these may be looked through.
    private static let small: Set<String> = [
        "penstock_state", "penstock_queue", "queue", "penstock_worker", "worker", "remote", "found", "CONSTANT",
        "sqlite_master",
        "wanted", "header", "beyond", "counted", "json_each", "older",
    ]

    /// What finds lost work goes through the leases, which are no more than what is in hands.
    private static let looksThroughLeases = "SELECT worker_id, deadline FROM penstock_lease"

    /// Once in an hour all schedules are asked with what data of a zone they were reckoned.
    private static let looksThroughSchedules = "zone_data <> 0"

    /// Expects that no statement run since the last time goes through a table, or puts rows in order, and that those
    /// which contain a text go by an index.
    func expectSearches(
        _ wanted: [(text: String, index: String)] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let plans = try await plans()
        #expect(!plans.isEmpty, sourceLocation: sourceLocation)
        for (sql, steps) in plans {
            for step in steps {
                #expect(!step.contains("B-TREE"), "\(sql)\n\(steps)", sourceLocation: sourceLocation)
                // The rows that a statement brings itself are of no table, and a list of numbers is a virtual one.
                if step.hasSuffix("CONSTANT ROWS") || step.contains(" VIRTUAL TABLE ") { continue }
                let words = step.split(separator: " ")
                let isScan =
                    words.first == "SCAN" && !Self.small.contains(String(words[1])) && sql != Self.looksThroughLeases
                    && !sql.contains(Self.looksThroughSchedules)
                #expect(!isScan, "\(sql)\n\(steps)", sourceLocation: sourceLocation)
            }
        }
        for (text, index) in wanted {
            let found = plans.filter { $0.sql.contains(text) }
            #expect(found.count == 1, "\(text)", sourceLocation: sourceLocation)
            for (sql, steps) in found {
                let goesByIt = steps.contains { $0.contains(index) }
                #expect(goesByIt, "\(sql)\n\(steps)", sourceLocation: sourceLocation)
            }
        }
    }

    func analyze(_ isWanted: Bool) async throws {
        if isWanted { try await pool.write { try $0.execute(sql: "ANALYZE") } }
        _ = statements.take()
    }

    @Test(arguments: [false, true]) func schedulesGoByIndexes(_ isAnalyzed: Bool) async throws {
        for number in 1...300 {
            let queue: QueueName = number.isMultiple(of: 2) ? .jobs : .mail
            let schedule = Schedule(queue: queue, spec: "@yearly", message: .text("x"))
            try await store.schedule(ScheduleName("s\(number)"), .put(schedule, replacing: false))
        }
        try await pool.write {
            try $0.execute(sql: "UPDATE penstock_schedule SET next_due = 1, reckoned_from = 0 WHERE id < 4")
        }
        try await analyze(isAnalyzed)
        _ = try await store.take(1)
        _ = try await store.fire()
        _ = try await store.fire()
        try await expectSearches([
            (
                "queue_id = ?1 AND paused = 0 AND next_due <= ?4",
                "penstock_schedule_due (queue_id=? AND paused=? AND next_due<?)"
            ),
            ("WHERE paused = 0 AND next_due <= ?3", "penstock_schedule_next (paused=? AND next_due<?)"),
            (
                "queue_id = ?1 AND paused = 0 AND next_due > ?2",
                "penstock_schedule_due (queue_id=? AND paused=? AND next_due>?)"
            ),
            ("WHERE paused = 0 AND next_due > ?1", "penstock_schedule_next (paused=? AND next_due>?)"),
        ])
    }

    // SQLite plans by statistics where somebody has made some, and they may be from another day.

    @Test(arguments: [false, true]) func aMessagesLifeGoesByIndexes(_ isAnalyzed: Bool) async throws {
        try await analyze(isAnalyzed)
        _ = try await store.enqueue(FilledFile.messages(5), to: .jobs, durability: .powerLoss)
        for conflict in [KeyConflict.skip, .skip, .replace] {
            try await store.put(.text("a", key: "k", onConflict: conflict))
        }
        try await expectSearches([
            ("UNION ALL", "penstock_unique USING PRIMARY KEY (queue_id=? AND unique_key=?)"),
            ("UNION ALL", "penstock_unique_period USING PRIMARY KEY (queue_id=? AND unique_key=?)"),
        ])
        // One is due, so that a claim makes it ready.
        try await pool.write {
            let first = "SELECT min(sequence) FROM penstock_scheduled"
            try $0.execute(sql: "UPDATE penstock_scheduled SET due_at = 1 WHERE sequence = (\(first))")
        }
        _ = statements.take()
        let messages = try await store.take(4)
        try await expectSearches([
            ("due_at BETWEEN ?4 AND ?2", "penstock_scheduled_due (queue_id=? AND due_at>? AND due_at<?)"),
            ("SELECT due_at", "penstock_scheduled_due (queue_id=? AND due_at>?)"),
            ("ORDER BY ready.priority DESC, ready.turn, ready.sequence LIMIT", "PRIMARY KEY (queue_id=?)"),
            (
                "ORDER BY ready.priority DESC, ready.turn, ready.sequence LIMIT",
                "log USING INTEGER PRIMARY KEY (rowid=?)"
            ),
            ("INSERT INTO penstock_lease", "PRIMARY KEY (queue_id=? AND priority=? AND (turn,sequence)<(?,?))"),
            ("DELETE FROM penstock_ready", "PRIMARY KEY (queue_id=? AND priority=? AND (turn,sequence)<(?,?))"),
        ])
        _ = try await store.extend(messages.map(\.lease), by: .seconds(60))
        let verdicts: [Verdict] = [.done, .retry(error: "e"), .dead(error: "e"), .release]
        _ = try await store.settle(zip(messages, verdicts).map { Settlement($0.lease, $1) })
        _ = try await store.enqueue(FilledFile.messages(3), to: .mail, durability: .processCrash)
        let run = try await store.take(3, from: .mail).sorted { $0.lease.sequence < $1.lease.sequence }
        _ = try await store.settle(run.map { Settlement($0.lease, .done) })
        _ = try await store.reclaim()
        try await expectSearches([
            ("FROM penstock_lease WHERE sequence >=", "INTEGER PRIMARY KEY (rowid>?)"),
            ("SELECT queue_id, sequence, 'done'", "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            ("DELETE FROM penstock_lease WHERE sequence BETWEEN", "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ])
        try await store.configure(.jobs, .set(.bounded(1, .dropOldest)))
        try await store.put(.text("x"))
        try await expectSearches([("AND priority < ?2", "PRIMARY KEY (queue_id=? AND priority<?)")])
        try await store.close()
    }

    @Test(arguments: [false, true]) func scopesOfKeysGoByIndexes(_ isAnalyzed: Bool) async throws {
        for scope in [KeyScope.whileWaiting, .period(.milliseconds(1))] {
            let messages = (1...2000).map { number in
                NewMessage(payload: [], uniqueKey: UniqueKey("\(scope) \(number)", scope: scope))
            }
            _ = try await store.enqueue(messages, to: .mail, durability: .processCrash)
        }
        try await analyze(isAnalyzed)
        _ = statements.take()
        for conflict in [KeyConflict.replace, .throttle] {
            for scope in [KeyScope.untilEnded, .whileWaiting, .period(.seconds(1))] {
                try await store.put(
                    NewMessage(payload: [], uniqueKey: UniqueKey("k", scope: scope, onConflict: conflict)), to: .mail)
            }
        }
        try await expectSearches([
            ("DELETE FROM penstock_unique_period", "PRIMARY KEY (queue_id=? AND unique_key=?)")
        ])
        let claimed = try await store.take(50, from: .mail)
        try await expectSearches([
            ("DELETE FROM penstock_unique", "PRIMARY KEY (queue_id=? AND unique_key=?)"),
            ("UPDATE penstock_lease SET marks", "INTEGER PRIMARY KEY (rowid=?)"),
        ])
        _ = try await store.settle(claimed.map { Settlement($0.lease, .release) })
        _ = try await store.prune(PruneRequest(limit: 10))
        try await expectSearches([
            ("DELETE FROM penstock_unique_period", "penstock_unique_period_until (queue_id=? AND until<?)"),
            ("DELETE FROM penstock_unique_period", "PRIMARY KEY (queue_id=? AND unique_key=?)"),
        ])
        try await store.close()
    }

    @Test(arguments: [false, true]) func commandsAndPruningGoByIndexes(_ isAnalyzed: Bool) async throws {
        _ = try await store.enqueue(FilledFile.messages(5), to: .jobs, durability: .powerLoss)
        try await analyze(isAnalyzed)
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready], limit: 3))
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled], limit: 3))
        _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead], limit: 3))
        try await expectSearches([
            ("FROM penstock_scheduled AS line NOT INDEXED", "INTEGER PRIMARY KEY (rowid>?)"),
            ("FROM penstock_outcome AS line INDEXED", "penstock_outcome_dead (queue_id=? AND sequence>?)"),
        ])
        let retention = Retention(age: .seconds(1), count: 5, deadAge: .seconds(1))
        _ = try await store.prune(PruneRequest(retention: retention, limit: 10))
        try await expectSearches([
            ("state <> 'dead' AND finished_at", "penstock_outcome_ended (queue_id=? AND finished_at<?)"),
            ("state = 'dead' AND finished_at", "penstock_outcome_died (queue_id=? AND finished_at<?)"),
        ])
        try await store.close()
    }

    @Test(arguments: [false, true]) func readingsGoByIndexes(_ isAnalyzed: Bool) async throws {
        _ = try await store.enqueue(FilledFile.messages(5), to: .jobs, durability: .powerLoss)
        try await analyze(isAnalyzed)
        for state in MessageState.allCases {
            _ = try await store.messages(
                MessageQuery(queue: .jobs, states: [state], limit: 3, withPayload: true, withAttempts: true))
        }
        _ = try await store.messages(MessageQuery(since: Timestamp(microseconds: 1), end: .last, limit: 3))
        _ = try await store.messages(MessageQuery(group: "none", states: [.ready, .blocked], limit: 3))
        try await expectSearches([
            ("line.state = 'dead'", "penstock_outcome_dead (queue_id=? AND sequence>?)"),
            ("line.state = 'dropped'", "penstock_outcome_dropped (queue_id=? AND sequence>?)"),
            ("penstock_scheduled AS line", "INTEGER PRIMARY KEY (rowid>?)"),
            ("penstock_lease AS line", "INTEGER PRIMARY KEY (rowid>?)"),
        ])
        try await store.close()
    }

    @Test(arguments: [
        ("penstock_dead_letters", "penstock_outcome_dead"), ("penstock_drops", "penstock_outcome_dropped"),
        ("penstock_dead_letters WHERE queue = 'jobs'", "penstock_outcome_dead (queue_id=?"),
        ("penstock_messages WHERE sequence = 7", "log USING INTEGER PRIMARY KEY (rowid=?)"),
        ("penstock_messages WHERE queue = 'jobs'", "penstock_log_queue (queue_id=?)"),
    ])
    func viewsGoByIndexes(_ view: String, _ index: String) async throws {
        let steps = try await pool.read { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN SELECT * FROM \(view)").map { $0["detail"] as String }
        }
        #expect(steps.contains { $0.contains(index) }, "\(steps)")
        #expect(!steps.contains { $0.contains("B-TREE") }, "\(steps)")
        try await store.close()
    }

    @Test func anIdleWorkerGoesThroughNothingThatExpires() async throws {
        let expiring = (1...500).map { NewMessage.text("\($0)", expiry: .after(.seconds(86_400))) }
        _ = try await store.enqueue(expiring, to: .jobs, durability: .processCrash)
        try await analyze(true)
        let steps = try await pool.read { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + ChangePoller.waiting.sql).map {
                $0["detail"] as String
            }
        }
        #expect(!steps.contains { $0.contains("SCAN penstock_expiry") }, "\(steps)")
        try await store.close()
    }
}
