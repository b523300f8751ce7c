import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Workflows as the file has them: steps of the schema, repairs, what is forgotten, and an application's transactions.
@Suite(.timeLimit(.minutes(5))) struct WorkflowFileTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// A file of the schema before, with a message in every table, goes on where it was.
    @Test func anOlderFileKeepsItsMessages() async throws {
        try await makeOlderFile(version: 11, at: path)
        try await ForeignProgram(path).run(
            """
            INSERT INTO penstock_queue (name) VALUES ('jobs');
            INSERT INTO penstock_messages (queue, payload, unique_key) VALUES ('jobs', 'ready', 'k');
            INSERT INTO penstock_messages (queue, payload, due_at)
                VALUES ('jobs', 'scheduled', strftime('%Y-%m-%d', 'now', '+1 year'));
            INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'leased'), ('jobs', 'ended');
            INSERT INTO penstock_lease SELECT sequence, queue_id, 7, 1, 1, 1, priority, 1, 0, keyed
                FROM penstock_ready WHERE sequence = 3;
            INSERT INTO penstock_outcome SELECT queue_id, sequence, 'done', NULL, 1, 1
                FROM penstock_ready WHERE sequence = 4;
            DELETE FROM penstock_ready WHERE sequence > 2;
            UPDATE penstock_depth SET ready = 1, leased = 1, kept = 1;
            """)
        let store = try await SQLiteStore.open(path: path)
        #expect(try await store.messages(MessageQuery()).map(\.state) == [.ready, .scheduled, .leased, .done])
        var depths = Depths()
        (depths.ready, depths.scheduled, depths.leased, depths.kept) = (1, 1, 1, 1)
        #expect(try await store.depths() == depths)
        #expect(try await store.put(.text("again", key: "k")).skipped)
        try await store.work(.done)
        #expect(try await !store.put(.text("again", key: "k")).skipped, "It has let its key go.")
        _ = try await store.reclaim()
        #expect(try await store.take(5).map { String(decoding: $0.payload, as: UTF8.self) } == ["leased", "again"])
        try await store.close()
    }

    /// What was done to the file by hand. After the repair and one look for lost work all goes on.
    @Test(arguments: [
        "UPDATE penstock_depth SET pending = 7",
        "UPDATE penstock_dependency SET state = 'met' WHERE child = 2",
        "UPDATE penstock_dependency SET state = 'failed' WHERE child = 3",
        "DELETE FROM penstock_dependency WHERE child = 2",
        "DELETE FROM penstock_task WHERE sequence = 2",
        "DELETE FROM penstock_log WHERE sequence = 2", "DELETE FROM penstock_workflow",
        "DELETE FROM penstock_pending WHERE sequence = 2", "UPDATE penstock_ready SET marks = 0",
        "INSERT INTO penstock_outcome VALUES (1, 2, 'done', NULL, 1, 1)",
        "INSERT INTO penstock_ready VALUES (1, 0, 0, 2, 0, 0, 2, NULL)",
        "INSERT INTO penstock_pending VALUES (1, 77, 0, 0, 0, 2)",
        "UPDATE penstock_pending SET priority = 9 WHERE sequence = 3",
        "UPDATE penstock_pending SET queue_id = 9 WHERE sequence = 3",
        "UPDATE penstock_pending SET attempt = -1",
    ])
    func whatIsWrongIsFoundAndRepaired(_ sql: String) async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["a", "b"]), ("d", [])])
        try await ForeignProgram(path).run(sql)
        #expect(try await !harness.findings().isEmpty)
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await harness.findings() == [])
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [])
        _ = try await store.reclaim()
        _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead]))
        // Nothing waits for ever.
        for _ in 1...5 {
            let messages = try await store.take(10)
            _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        }
        #expect(try await store.depths().pending == 0)
        #expect(try await harness.findings() == [])
        try await store.close()
    }

    /// What waits for no other task any more still waits for its own time.
    @Test func aTaskThatIsPutInLineIsDueWhenItWasToBe() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["a"])])
        let now = harness.time.now.microseconds
        let program = try ForeignProgram(path)
        try await program.run(
            """
            DELETE FROM penstock_dependency;
            UPDATE penstock_task SET delay = 60000000 WHERE name = 'b';
            UPDATE penstock_task SET delay = 5, due_at = \(now + 90_000_000) WHERE name = 'c';
            UPDATE penstock_task SET due_at = \(now - 1) WHERE name = 'd';
            """)
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await harness.findings() == [])
        #expect(
            try await program.rows("SELECT sequence, due_at FROM penstock_scheduled ORDER BY sequence")
                == ["2|\(now + 60_000_000)", "3|\(now + 90_000_000)"])
        for expected in [[1, 4], [2, 3]] as [[Int64]] {
            let messages = try await store.take(9)
            #expect(messages.map(\.lease.sequence.rawValue).sorted() == expected)
            _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
            harness.time.advance(by: .seconds(90))
        }
        #expect(try await harness.findings() == [])
        try await store.close()
    }

    /// Nothing of a workflow stays once its last task is forgotten, and nothing goes before.
    @Test func aWorkflowIsForgottenWhole() async throws {
        let store = try await harness.openWithJobs()
        let everything = PruneRequest(retention: Retention(age: .zero, count: 0, deadAge: .zero), limit: 2)
        let first = try await store.begin([("a", []), ("b", ["a"]), ("c", ["b"])])[0]
        let step = try StepName("s"), event = try EventName("e")
        _ = try await store.emit(NewEvent(event), to: .workflow(.flow), durability: .processCrash)
        _ = try await store.emit(NewEvent(event), to: .message(SequenceNumber(first)), durability: .processCrash)
        for _ in 1...3 {
            #expect(try await store.prune(everything).messages == 0)
            let message = try #require(try await store.take().first)
            _ = try await store.record(step, result: [1], on: message.lease, extendingBy: nil)
            _ = try await store.settle([Settlement(message.lease, .done, result: [2])])
            harness.time.advance(by: .seconds(1))
        }
        try await store.put(.text("x"))
        try await store.work(.done)
        harness.time.advance(by: .seconds(1))
        #expect(try await store.prune(everything) == Pruned(messages: 2, hasMore: true))
        #expect(try await store.workflows(WorkflowQuery()).count == 1)
        #expect(try await store.prune(everything) == Pruned(messages: 2, hasMore: false))
        let program = try ForeignProgram(path)
        for table in [
            "workflow", "task", "dependency", "cascade", "result", "step", "event", "awaited", "log", "outcome",
        ] {
            #expect(try await program.number("SELECT count(*) FROM penstock_\(table)") == 0, "\(table)")
        }
        try await store.close()
    }

    /// What is passed over by a prune hides nothing that comes after it.
    @Test func tasksOfAWorkflowThatGoesOnHideNothing() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin((1...20).map { ("\($0)", []) } + [("last", ["1"])])
        for _ in 1...20 { try await store.work(.done) }
        try await store.put(.text("plain", priority: 1))
        try await store.work(.done)
        harness.time.advance(by: .seconds(1))
        let request = PruneRequest(retention: Retention(age: .zero), limit: 5)
        #expect(try await store.prune(request) == Pruned(messages: 1, hasMore: false))
        #expect(try await store.counts() == [.done: 20, .ready: 1])
        try await store.close()
    }

    /// In an application's transaction: all of it or nothing, and what follows from it as well.
    @Test func anApplicationsTransactionHasWorkflows() async throws {
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool, options: .init(time: harness.time))
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        struct Undone: Error {}
        let tasks = [
            NewTask(TaskName(stored: "a"), queue: .jobs, message: .text("a")),
            NewTask(
                TaskName(stored: "b"), queue: .jobs, message: .text("b"),
                dependencies: [Dependency(on: TaskName(stored: "a"))]),
        ]
        let workflow = NewWorkflow(.flow, tasks: tasks)
        await #expect(throws: Undone.self) {
            try await pool.write { database in
                _ = try PoolTransaction(store, database).start(workflow)
                throw Undone()
            }
        }
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        #expect(try await pool.write { try PoolTransaction(store, $0).start(workflow) }.isNew)
        let lease = try #require(try await store.take().first).lease
        let step = try StepName("s"), event = try EventName("e")
        try await pool.write { database in
            _ = try PoolTransaction(store, database).record(step, result: [1], on: lease)
            #expect(try PoolTransaction(store, database).emit(NewEvent(event, payload: [2]), to: .workflow(.flow)))
            _ = try PoolTransaction(store, database).settle([Settlement(lease, .done, result: [3])])
        }
        #expect(try await store.counts() == [.done: 1, .ready: 1])
        let journal = try await store.journal(of: lease.sequence)
        #expect(journal.steps.map(\.result) == [[1]] && journal.result == [3])
        await expect(.leaseLost) {
            try await pool.write { try PoolTransaction(store, $0).record(step, result: [], on: lease) }
        }
        try await store.close()
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await reader.tasks(TaskQuery(.flow)).map(\.state) == [.done, .ready])
        #expect(try await reader.workflows(WorkflowQuery()).map(\.name) == [.flow])
        #expect(try await reader.event(event, for: lease.sequence) == [2])
        #expect(try await reader.journal(of: lease.sequence).task?.workflow == .flow)
        try await reader.close()
    }
}
