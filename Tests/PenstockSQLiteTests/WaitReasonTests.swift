import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a file says of a message that waits, as others have left it.
@Suite(.timeLimit(.minutes(5))) struct WaitReasonTests {
    private let harness = SQLiteHarness()

    /// What another boot has written down is no moment here, and the wall clock may have been set since.
    @Test func theRateOfAnotherClockIsNotKnown() async throws {
        let store = try await harness.openStore()
        let policy = QueuePolicy(
            groups: .limit(1), rate: Rate(1, per: .seconds(10)), ratePerKey: Rate(1, per: .seconds(60)))
        try await store.configure(.jobs, .create(policy, ifAbsent: false))
        for group in ["a", nil, "a"] { try await store.put(.text("x", group: group)) }
        let message = try #require(try await store.take(1).first)
        _ = try await store.settle([Settlement(message.lease, .done)])
        try await ForeignProgram(harness.path).run("UPDATE penstock_rate SET clock = 'another'")
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes == [.rate(opens: nil)])
        #expect(try await store.waitReason(of: SequenceNumber(3)).causes == [.groupRate(opens: nil)])
        try await store.close()
    }

    @Test func aChangeThatIsNotCarriedOutYetIsNamed() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(groups: .fifo()), ifAbsent: false))
        try await store.put(.text("x", group: "a"))
        try await ForeignProgram(harness.path).run("UPDATE penstock_queue SET fifo = 0, limit_per_key = 3")
        #expect(try await store.waitReason(of: SequenceNumber(1)).causes.first == .policyChange)
        #expect(try await store.take(1).count == 1)
        try await store.close()
    }

    /// A task that has ended, and that a task which waits is still to be told of.
    @Test func whatIsStillToBeToldIsSaid() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let (parent, child) = (TaskName(stored: "parent"), TaskName(stored: "child"))
        let tasks = [
            NewTask(parent, queue: .jobs, message: .text("parent")),
            NewTask(child, queue: .jobs, message: .text("child"), dependencies: [Dependency(on: parent)]),
        ]
        _ = try await store.start(NewWorkflow(tasks: tasks), durability: .processCrash)
        try await ForeignProgram(harness.path).run(
            """
            INSERT INTO penstock_outcome SELECT queue_id, sequence, 'done', NULL, 1, 1 FROM penstock_ready WHERE sequence = 1;
            DELETE FROM penstock_ready WHERE sequence = 1
            """)
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes == [.untold])
        try await store.close()
    }

    /// A reader takes no lock: while another process has the file for itself to write, it answers.
    @Test func itWaitsForNoWriter() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await store.put(.text("x"))
        let program = try ForeignProgram(harness.path)
        try await program.run("BEGIN IMMEDIATE")
        #expect(try await store.waitReason(of: SequenceNumber(1)).message.state == .ready)
        let reader = try await SQLiteReader.open(path: harness.path, time: harness.time)
        #expect(try await reader.waitReason(of: SequenceNumber(1)).causes == [.noWorker])
        try await reader.close()
        try await program.run("ROLLBACK")
        try await store.close()
    }
}

/// The statements that say what a message waits for.
extension QueryPlanTests {
    @Test(arguments: [false, true]) func reasonsGoByIndexes(_ isAnalyzed: Bool) async throws {
        let queue = QueueName(stored: "waiting")
        try await store.setLimit(LimitName(stored: "db"), to: 1)
        let policy = QueuePolicy(
            groups: .fifo(), limit: 1, sharedLimit: LimitName(stored: "db"), rate: Rate(1, per: .seconds(60)),
            ratePerKey: Rate(1, per: .seconds(60)))
        try await store.configure(queue, .create(policy, ifAbsent: false))
        let many = (1...1000).map { NewMessage.text("\($0)", priority: $0 % 3, group: "group \($0 % 4)") }
        var sequences = try await store.enqueue(many, to: queue, durability: .processCrash).suffix(1).map(\.sequence)
        sequences.append(try await store.put(.text("ready"), to: queue).sequence)
        _ = try await store.take(1, from: queue, lease: .seconds(3600))
        // Statistics of many leases: of few, SQLite may look through them.
        _ = try await store.enqueue(
            (1...500).map { .text("\($0)") }, to: .mail, durability: .processCrash)
        _ = try await store.take(500, from: .mail, lease: .seconds(3600))
        sequences.append(try await store.put(.text("later", due: .after(.seconds(60))), to: queue).sequence)
        let (parent, child) = (TaskName(stored: "parent"), TaskName(stored: "child"))
        let tasks = [
            NewTask(parent, queue: .mail, message: .text("parent")),
            NewTask(child, queue: .mail, message: .text("child"), dependencies: [Dependency(on: parent)]),
        ]
        sequences += try await store.start(NewWorkflow(tasks: tasks), durability: .processCrash).receipts.map(
            \.sequence)
        try await analyze(isAnalyzed)
        for sequence in sequences { _ = try await store.waitReason(of: sequence) }
        try await expectSearches([
            ("(turn, sequence) < (?3, ?4)", "PRIMARY KEY (queue_id=? AND priority=?"),
            ("priority > ?2 LIMIT ?3", "PRIMARY KEY (queue_id=? AND priority>?)"),
            ("priority = ?3 AND sequence < ?4", "(queue_id=? AND group_key=? AND priority=? AND sequence<?)"),
            ("dependency.child = ?1 AND dependency.state = 'open'", "penstock_dependency_child (child=? AND state=?)"),
        ])
        try await store.close()
    }
}
