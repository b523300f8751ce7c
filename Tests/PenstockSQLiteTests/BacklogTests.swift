import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What waits, runs and has ended beside a message costs it nothing. Judged by pages that SQLite looks at, which are
/// the same on every machine.
@Suite(.timeLimit(.minutes(5))) struct BacklogTests {
    private let folder = TemporaryFolder()
    private let store: SQLiteStore

    init() async throws {
        store = try await SQLiteStore.openWithJobs(folder.file("queue.db"))
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
    }

    /// One message's whole life.
    private func life() async throws {
        try await store.put(.text("it"))
        let messages = try await store.take(1)
        #expect(messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["it"])
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        #expect(try await store.take(1).isEmpty)
    }

    private enum Backlog: String, CaseIterable {
        case scheduledOfHigherPriority, finished, dead, readyElsewhere, leased
    }

    /// A hundred thousand messages in one state, by SQL, which is what makes this a matter of a second.
    private func pile(_ backlog: Backlog) async throws {
        let (table, columns, values) =
            switch backlog {
            case .scheduledOfHigherPriority:
                ("penstock_scheduled", "queue_id, due_at, priority, attempt, forgiven, marks", "1, 9e15, 50, 0, 0, 0")
            case .finished: ("penstock_outcome", "queue_id, state, attempt, finished_at", "1, 'done', 1, i")
            case .dead: ("penstock_outcome", "queue_id, state, attempt, finished_at", "1, 'dead', 1, i")
            case .readyElsewhere:
                ("penstock_ready", "queue_id, priority, turn, attempt, forgiven, marks", "2, 9, 0, 0, 0, 0")
            case .leased:
                (
                    "penstock_lease",
                    "queue_id, token, worker_id, claimed_at, deadline, priority, attempt, forgiven, marks",
                    "1, 1, 99, 1, 9e15, 0, 1, 0, 0"
                )
            }
        let program = try ForeignProgram(folder.file("queue.db"))
        try await program.run(
            """
            BEGIN;
            WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 100999)
            INSERT INTO \(table) (sequence, \(columns)) SELECT i, \(values) FROM n;
            INSERT INTO penstock_log (sequence, queue_id, enqueued_at, priority, payload)
            SELECT sequence, queue_id, 1, 0, x'00' FROM \(table) WHERE sequence >= 1000;
            UPDATE penstock_state SET last_sequence = 200000;
            COMMIT;
            """)
    }

    @Test(arguments: Backlog.allCases.map(\.rawValue))
    func aBacklogCostsALifeNothing(_ name: String) async throws {
        let backlog = try #require(Backlog(rawValue: name))
        try await life()
        let alone = try await store.pages { try await life() }
        try await pile(backlog)
        // The first one reads the schema again, and meets the new depth of the trees.
        try await life()
        let beside = try await store.pages { try await life() }
        // A tree of a hundred thousand rows is one or two pages deeper than one of ten; a life goes down some twenty.
        #expect(beside < alone + 20, "\(alone) pages alone, \(beside) beside \(name).")
        try await store.close()
    }

    @Test func aMillisecondAheadOfAHundredThousandForTomorrow() async throws {
        try await pile(.scheduledOfHigherPriority)
        let due = SystemTime().now + .milliseconds(1)
        try await store.put(.text("soon", due: .at(due)))
        var claim = try await store.claim(ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(9)))
        while claim.messages.isEmpty {
            #expect(claim.nextDue == due)
            claim = try await store.claim(ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(9)))
        }
        #expect(SystemTime().now >= due)
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["soon"])
        try await store.close()
    }
}
