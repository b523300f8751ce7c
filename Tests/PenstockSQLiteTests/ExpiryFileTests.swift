import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Messages that expire in a file that others write as well: by hand, or wrongly.
@Suite(.timeLimit(.minutes(5))) struct ExpiryFileTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }
    private static let soon = Expiry.after(.seconds(10))

    /// A file with messages that expire: 1 leased, 2 blocked, 3 ready, 4 scheduled, 6 pending. Message 5 is its parent, and 7 does
    /// not expire.
    private func makeFile() async throws -> SQLiteStore {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(groups: .limit(1)), ifAbsent: true))
        for _ in 1...2 { try await store.put(.text("a", group: "a", expiry: Self.soon)) }
        _ = try await store.take(1, lease: .seconds(3600))
        try await store.put(.text("ready", expiry: Self.soon))
        try await store.put(.text("scheduled", due: .after(.seconds(5)), expiry: Self.soon))
        let (parent, child) = (TaskName(stored: "parent"), TaskName(stored: "child"))
        let tasks = [
            NewTask(parent, queue: .jobs, message: .text("parent")),
            NewTask(
                child, queue: .jobs, message: .text("child", expiry: Self.soon), dependencies: [Dependency(on: parent)]),
        ]
        _ = try await store.start(NewWorkflow(tasks: tasks), durability: .processCrash)
        try await store.put(.text("stays"))
        return store
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings.filter { $0.severity == .error }
    }

    private func rows(_ program: ForeignProgram) async throws -> [String] {
        try await program.rows("SELECT sequence FROM penstock_expiry ORDER BY sequence")
    }

    @Test func aSoundFileIsFoundSound() async throws {
        let store = try await makeFile()
        #expect(try await findings().isEmpty)
        #expect(try await rows(ForeignProgram(path)) == ["2", "3", "4", "6"])
        harness.time.advance(by: .seconds(10))
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [5, 7])
        #expect(try await findings().isEmpty)
        #expect(try await rows(ForeignProgram(path)).isEmpty)
        try await store.close()
    }

    @Test(arguments: [
        "DELETE FROM penstock_expiry",
        "DELETE FROM penstock_expiry WHERE sequence = 6",
        "UPDATE penstock_expiry SET expires_at = 5 WHERE sequence = 3",
        "UPDATE penstock_expiry SET queue_id = 9 WHERE sequence = 4",
        "UPDATE penstock_expiry SET sequence = 99 WHERE sequence = 3",
        "INSERT INTO penstock_expiry VALUES (1, 1, 5)",
        "INSERT INTO penstock_expiry VALUES (7, 1, 5)",
        "UPDATE penstock_log SET expires_at = NULL WHERE sequence = 2",
        "UPDATE penstock_log SET expires_at = NULL WHERE sequence = 1",
        "UPDATE penstock_ready SET marks = 0 WHERE sequence = 3",
        "UPDATE penstock_ready SET marks = marks | 16 WHERE sequence = 7",
        "DELETE FROM penstock_scheduled WHERE sequence = 4",
    ]) func whatIsWrongIsFoundAndRepaired(_ sql: String) async throws {
        try await harness.crash(try await makeFile())
        let program = try ForeignProgram(path)
        try await program.run(sql)
        #expect(try await !findings().isEmpty)
        let repaired = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(!repaired.repairs.isEmpty)
        #expect(try await findings().isEmpty)
        let again = try await harness.openStore()
        harness.time.advance(by: .seconds(5))
        _ = try await again.reclaim()
        let left = try await again.messages(MessageQuery(states: [.pending, .blocked, .ready, .scheduled]))
        let expiring = left.filter { $0.expiresAt != nil }.map { "\($0.sequence)" }
        #expect(try await rows(program) == expiring)
        harness.time.advance(by: .seconds(5))
        // What is left and does not expire goes on.
        #expect(try await again.take(100).allSatisfy { !expiring.contains("\($0.lease.sequence)") })
        #expect(try await rows(program).isEmpty)
        try await again.close()
    }

    /// A row of a message that does not wait is in nobody's way.
    @Test(arguments: [
        "INSERT INTO penstock_expiry SELECT 1, id, 5 FROM penstock_queue",
        "INSERT INTO penstock_expiry SELECT 99, id, 5 FROM penstock_queue",
        "INSERT INTO penstock_expiry SELECT 7, id, 5 FROM penstock_queue",
    ]) func aRowThatContradictsTheLineIsRemoved(_ sql: String) async throws {
        let store = try await makeFile()
        let program = try ForeignProgram(path)
        try await program.run(sql)
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [3, 5, 7])
        #expect(try await rows(program) == ["2", "4", "6"])
        #expect(try await findings().isEmpty)
        try await store.close()
    }

    /// A restore gives back what was leased, and that expires as it would have.
    @Test func aRestoredFileGoesOnExpiring() async throws {
        let store = try await makeFile()
        let copy = harness.folder.file("copy.db")
        try await ForeignProgram(path).run("VACUUM INTO '\(copy)'")
        try await store.close()
        let target = harness.folder.file("restored.db")
        _ = try await SQLiteStore.restore(from: copy, to: target)
        #expect(
            try await SQLiteStore.inspectHealth(path: target, time: harness.time).findings.allSatisfy {
                $0.severity != .error
            })
        #expect(try await rows(ForeignProgram(target)) == ["1", "2", "3", "4", "6"])
        harness.time.advance(by: .seconds(10))
        let restored = try await SQLiteStore.open(path: target, options: .init(time: harness.time))
        #expect(try await restored.take(100).map(\.lease.sequence.rawValue) == [5, 7])
        try await restored.close()
    }

    /// A message that another program has put in line expires as any other, and its queue's workers are told.
    @Test func aMessageOfPlainSQLExpires() async throws {
        let store = try await SQLiteStore.openWithJobs(
            path, QueuePolicy(whenExpired: .dead), options: .init(time: harness.time))
        let moment = harness.time.now + .seconds(10)
        let program = try ForeignProgram(path)
        try await program.run(
            "INSERT INTO penstock_messages (queue, payload, expires_at) VALUES ('jobs', 'x', ?)", [moment.microseconds])
        let claim = ClaimRequest(queue: .mail, limit: 1, lease: .seconds(30))
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        #expect(try await store.claim(claim).nextDue == nil, "The other queue has nothing that expires.")
        #expect(try await program.rows("SELECT expires_at IS NOT NULL FROM penstock_messages") == ["1"])
        harness.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        #expect(try await program.rows("SELECT state, reason FROM penstock_messages") == ["dead|expired"])
        #expect(try await program.rows("SELECT when_expired FROM penstock_queues WHERE queue = 'jobs'") == ["dead"])
        try await store.close()
    }
}
