import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a pruning passes over in a file with workflows, and what it costs.
@Suite(.timeLimit(.minutes(5))) struct WorkflowRetentionTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private let everything = PruneRequest(retention: Retention(age: .zero, deadAge: .zero))

    /// A process died while a task was told to those that wait for it: what they are is not decided yet.
    @Test func aTaskStaysUntilItWasTold() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"])])
        try await store.work(.done)
        try await store.work(.done)
        harness.time.advance(by: .seconds(1))
        try await ForeignProgram(path).run("INSERT INTO penstock_cascade VALUES (0, 1, 0)")
        #expect(try await store.prune(everything) == Pruned(messages: 1))
        #expect(try await store.tasks(TaskQuery(.flow)).map(\.name.text) == ["a"])
        _ = try await store.reclaim()
        #expect(try await store.prune(everything) == Pruned(messages: 1))
        #expect(try await store.workflows(WorkflowQuery()).isEmpty)
        try await store.close()
    }

    /// Its end was told to nobody, as what waits for it is cancelled already.
    @Test func aDeadLetterThatIsForgottenLeavesTheFileSound() async throws {
        let store = try await harness.openWithJobs()
        func task(_ name: String, after dependencies: [Dependency] = []) -> NewTask {
            NewTask(TaskName(stored: name), queue: .jobs, message: .text(name), dependencies: dependencies)
        }
        let held = Dependency(on: TaskName(stored: "b"), need: .done(whenDead: .hold))
        let tasks = [task("a"), task("b"), task("c", after: [Dependency(on: TaskName(stored: "a")), held])]
        _ = try await store.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
        for _ in 1...2 { try await store.work(.dead(error: "bad")) }
        harness.time.advance(by: .seconds(1))
        #expect(try await store.prune(PruneRequest(retention: everything.retention, limit: 2)).messages == 2)
        let report = try await SQLiteStore.inspectHealth(path: path, time: harness.time)
        #expect(report.findings.filter { $0.severity == .error } == [])
        try await store.close()
    }

    /// Many that are passed over cost several transactions, each of which lets others have their turn.
    @Test(arguments: [Retention(age: .zero), Retention(age: nil, count: 0)])
    func whatIsPassedOverIsLookedAtInSteps(_ retention: Retention) async throws {
        let counted = Tally()
        let store = try await harness.openWithJobs { counted.add() }
        try await store.begin((1...15_000).map { ("\($0)", []) } + [("last", ["1"])])
        while true {
            let messages = try await store.take(5000)
            let tasks = messages.filter { String(decoding: $0.payload, as: UTF8.self) != "last" }
            if tasks.isEmpty { break }
            _ = try await store.settle(tasks.map { Settlement($0.lease, .done) })
        }
        try await store.put(.text("plain"))
        try await store.work(.done)
        harness.time.advance(by: .seconds(1))
        let before = counted.count
        #expect(try await store.prune(PruneRequest(retention: retention, limit: 5)) == Pruned(messages: 1))
        #expect(counted.count > before)
        #expect(try await store.counts()[.done] == 15_000)
        try await store.close()
    }

    /// Many tasks that wait for one event are put in line in steps, and by others when the one that told of it dies.
    @Test func anEventWakesManyInSteps() async throws {
        struct Stopped: Error {}
        let doomed = try await harness.openWithJobs { throw Stopped() }
        try await doomed.begin((1...2500).map { ("\($0)", []) })
        let event = try EventName("e")
        let messages = try await doomed.take(2500)
        let until = harness.time.now + .seconds(3600)
        _ = try await doomed.settle(messages.map { Settlement($0.lease, .suspend(until: until, event: event)) })
        await #expect(throws: Stopped.self) {
            try await doomed.emit(NewEvent(event), to: .workflow(.flow), durability: .processCrash)
        }
        await doomed.crash()
        let store = try await harness.openWithJobs()
        #expect(try await store.counts()[.scheduled] ?? 0 > 0)
        #expect(try await !store.emit(NewEvent(event), to: .workflow(.flow), durability: .processCrash))
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.ready: 2500])
        #expect(try await ForeignProgram(path).number("SELECT count(*) FROM penstock_cascade") == 0)
        try await store.close()
    }

    @Test func aTaskWithTheLowestNumberThereIsTrapsNobody() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", [])])
        try await ForeignProgram(path).run(
            "INSERT INTO penstock_task VALUES (-9223372036854775808, 1, 'stray', NULL, NULL)")
        #expect(try await store.tasks(TaskQuery(.flow, name: TaskName("stray"))).isEmpty)
        try await store.close()
    }

    /// The task that was waited for is gone with its queue, and had been done: that is how it is, and nothing is wrong.
    @Test func whatWasMetBeforeItsQueueWentIsHealthy() async throws {
        let store = try await harness.openWithJobs()
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        func task(_ name: String, in queue: QueueName, after parents: [String] = []) -> NewTask {
            NewTask(
                TaskName(stored: name), queue: queue, message: .text(name),
                dependencies: parents.map { Dependency(on: TaskName(stored: $0)) })
        }
        let tasks = [
            task("a", in: .mail), task("b", in: .jobs), task("c", in: .jobs, after: ["a", "b"]),
            task("d", in: .jobs, after: ["a", "b"]),
        ]
        _ = try await store.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
        let a = try #require(try await store.take(1, from: .mail).first)
        _ = try await store.settle([Settlement(a.lease, .done)])
        try await store.configure(.mail, .delete(force: true))
        func errors() async throws -> [HealthFinding] {
            let report = try await SQLiteStore.inspectHealth(path: path, time: harness.time)
            return report.findings.filter { $0.severity == .error }
        }
        #expect(try await errors() == [])
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [])
        #expect(try await store.counts() == [.ready: 1, .pending: 2])
        // Now something is wrong indeed: c waits for what is gone alone, and d for what is said to be done.
        let program = try ForeignProgram(path)
        try await program.run("DELETE FROM penstock_dependency WHERE parent = 2 AND child = 3")
        try await program.run("UPDATE penstock_dependency SET state = 'met'")
        #expect(try await !errors().isEmpty)
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await errors() == [])
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.ready: 2, .pending: 1])
        for _ in 1...2 { try await store.work(.done) }
        try await store.work(.done)
        #expect(try await store.counts() == [.done: 3])
        try await store.close()
    }
}
