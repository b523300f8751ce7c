import Foundation
import GRDB
import GRDBSQLite
import Penstock
import PenstockCore
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// What is far in the future costs the present nothing.
    @Suite struct CostTests {
        private static let laterCount = 1_000_000 * Proofs.scale

        /// Puts a million messages in line for tomorrow, of higher priority than all others.
        private static func fill(_ site: Site) throws {
            let queue = try DatabaseQueue(path: site.file)
            defer { try? queue.close() }
            try queue.write { database in
                try database.execute(
                    sql: """
                        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                        INSERT INTO penstock_log (sequence, queue_id, enqueued_at, priority, payload)
                            SELECT (SELECT last_sequence FROM penstock_state) + n,
                                (SELECT id FROM penstock_queue WHERE name = 'q'), 1, 100, x'61' FROM number
                        """, arguments: [laterCount])
                try database.execute(
                    sql: """
                        INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
                            SELECT sequence, queue_id, (unixepoch() + 86400) * 1000000 + sequence, 100, 0, 0, 0
                            FROM penstock_log WHERE sequence > (SELECT last_sequence FROM penstock_state)
                        """)
                try database.execute(
                    sql: """
                        UPDATE penstock_depth SET scheduled = scheduled + ?1, enqueued_total = enqueued_total + ?1;
                        UPDATE penstock_state SET last_sequence = last_sequence + ?1;
                        """, arguments: [laterCount, laterCount])
            }
        }

        /// The time on record from when it was due to its claim.
        @Test func aMessageThatIsDueInAMomentIsWorkedOnTime() async throws {
            try await Site.use { site in
                let gate = try Gate(site)
                let lines = try Lines()
                try await site.succeed(["queue", "create", "q"])
                try Self.fill(site)
                let worker = try await site.start(
                    ["work", "q", "--", "sh", "-c", "echo began; read -r _ < \(gate.path)"], output: lines.writeEnd)
                try lines.closeWriteEnd()
                let delays = try await measured(atMost: 20, until: { $0 <= 50_000 }) { _ in
                    try await site.succeed(["enqueue", "q", "now", "--delay", "1ms"])
                    #expect(try await lines.next() == "began")
                    let delay = try site.number(
                        "SELECT claimed_at - enqueued_at - 1000 FROM penstock_lease JOIN penstock_log USING (sequence)")
                    try gate.open()
                    return delay
                }
                #expect(delays.allSatisfy { $0 >= 0 }, "before it was due: \(delays)")
                #expect(try #require(delays.last) <= 50_000, "microseconds after it was due: \(delays)")
                worker.send(SIGTERM)
                #expect(try await worker.end.status == .exited(0))
                try await site.expectHealthy()
            }
        }

        /// The same claims, with and without them, in SQLite's own measures: the steps of its machine, and the pages
        /// it looks at. No clock is asked.
        @Test func aClaimCostsTheSameWithAndWithoutThem() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                // One of them is there in any case, so that the time of the next one has an answer.
                try await site.succeed(["enqueue", "q", "later", "--delay", "1d"])
                let without = try await Self.costOfClaims(site)
                try Self.fill(site)
                let with = try await Self.costOfClaims(site)
                #expect(without.steps > 100)
                #expect(with.steps == without.steps)
                // Trees of more levels: a page or two more for each look into one.
                #expect(with.pages <= without.pages * 3 / 2, "\(with) \(without)")
            }
        }

        @Test func aFullFairQueueDropsAtTheSameCostHoweverMuchWaits() async throws {
            var steps: [Int32] = []
            for capacity in [10, 5_000] {
                try await Site.use { site in
                    try await site.succeed([
                        "queue", "create", "q", "--fair", "--capacity", "\(capacity)", "--when-full", "drop-oldest",
                    ])
                    let pool = try DatabasePool(path: site.file)
                    let store = try await PenstockStore.open(pool)
                    let queue = try await store.queue("q", create: false)
                    try await queue.enqueue(contentsOf: Array(repeating: [1], count: capacity)) { _ in .init(group: "a")
                    }
                    // The first one prepares the statements.
                    try await queue.enqueue([2], options: .init(group: "b"))
                    let before = try await pool.writeWithoutTransaction { try Self.cost(of: $0) }
                    for _ in 1...10 { try await queue.enqueue([2], options: .init(group: "b")) }
                    let after = try await pool.writeWithoutTransaction { try Self.cost(of: $0) }
                    steps.append(after.steps - before.steps)
                    #expect(try await queue.status().totals.dropped == 11)
                    try await store.close()
                    try pool.close()
                }
            }
            #expect(steps[1] <= steps[0] * 11 / 10, "\(steps)")
        }

        /// Each has a permit at first, and all but one are to give theirs back.
        @Test func aLineIsBroughtInOrderAtACostThatGrowsAsItDoes() async throws {
            var steps: [Int32] = []
            for count in [25_000, 50_000] {
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "q", "--fair"])
                    let pool = try DatabasePool(path: site.file)
                    let store = try await PenstockStore.open(pool)
                    let queue = try await store.queue("q", create: false)
                    for _ in 0..<count / 1_000 {
                        try await queue.enqueue(contentsOf: Array(repeating: [1], count: 1_000)) { _ in
                            .init(group: "a")
                        }
                    }
                    let before = try await pool.writeWithoutTransaction { try Self.cost(of: $0) }
                    try await store.storage.configure(
                        queue.name, .set(QueuePolicy(groups: .limit(1), isFair: true), replacing: nil))
                    let after = try await pool.writeWithoutTransaction { try Self.cost(of: $0) }
                    steps.append(after.steps - before.steps)
                    #expect(try await queue.status().depths.blocked == count - 1)
                    try await store.close()
                    try pool.close()
                }
            }
            #expect(steps[1] < steps[0] * 3, "\(steps)")
        }

        private struct Cost {
            var steps: Int32 = 0
            var pages: Int32 = 0
        }

        /// What ten claims of one message cost each time, all told.
        private static func costOfClaims(_ site: Site) async throws -> Cost {
            let pool = try DatabasePool(path: site.file)
            let store = try await PenstockStore.open(pool)
            let queue = try await store.queue("q", create: false)
            try await queue.enqueue(contentsOf: (1...11).map { [UInt8($0)] })
            let request = ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(30))
            // The first one prepares the statements, and makes the worker known.
            var claimed = try await store.storage.claim(request).messages.map(\.payload)
            let before = try await pool.writeWithoutTransaction { try cost(of: $0) }
            for _ in 1...10 { claimed += try await store.storage.claim(request).messages.map(\.payload) }
            let after = try await pool.writeWithoutTransaction { try cost(of: $0) }
            #expect(claimed == (1...11).map { [UInt8($0)] })
            try await store.cancelNow(.queue(queue.name, states: [.leased]))
            try await store.close()
            try pool.close()
            return Cost(steps: after.steps - before.steps, pages: after.pages - before.pages)
        }

        /// What the connection has done so far.
        private static func cost(of database: Database) throws -> Cost {
            var cost = Cost()
            var statement = sqlite3_next_stmt(database.sqliteConnection, nil)
            while let current = statement {
                cost.steps += sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 0)
                statement = sqlite3_next_stmt(database.sqliteConnection, current)
            }
            for counter in [SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS] {
                var (now, highest): (Int32, Int32) = (0, 0)
                sqlite3_db_status(database.sqliteConnection, counter, &now, &highest, 0)
                cost.pages += now
            }
            return cost
        }
    }
}
