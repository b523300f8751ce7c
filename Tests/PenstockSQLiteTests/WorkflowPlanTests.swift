import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// The statements of workflows.
extension QueryPlanTests {
    @Test(arguments: [false, true]) func workflowsGoByIndexes(_ isAnalyzed: Bool) async throws {
        for number in 1...50 {
            let tasks = fan(20).map { name, parents in
                NewTask(
                    TaskName(stored: name), queue: .mail, message: .text(name),
                    dependencies: parents.map { Dependency(on: TaskName(stored: $0)) })
            }
            let name = try WorkflowName("flow \(number)")
            _ = try await store.start(NewWorkflow(name, tasks: tasks), durability: .processCrash)
        }
        try await analyze(isAnalyzed)
        let name = try WorkflowName("flow 7")
        let step = try StepName("s"), event = try EventName("e")
        // Leases that do not end meanwhile, however busy the machine is: a look for those goes through all.
        let messages = try await store.take(6, from: .mail, lease: .seconds(3600))
        _ = try await store.record(step, result: [], on: messages[0].lease, extendingBy: .seconds(1))
        _ = try await store.settle([
            Settlement(messages[0].lease, .done, result: [1]), Settlement(messages[1].lease, .dead(error: "e")),
            Settlement(messages[2].lease, .suspend(until: SystemTime().now + .seconds(60), event: event)),
        ])
        _ = try await store.settle(messages[3...].map { Settlement($0.lease, .done) })
        _ = try await store.emit(NewEvent(event), to: .workflow(name), durability: .processCrash)
        _ = try await store.emit(NewEvent(event), to: .message(messages[2].lease.sequence), durability: .processCrash)
        _ = try await store.apply(.redrive, to: .sequences([messages[1].lease.sequence]))
        _ = try await store.cancel(name)
        _ = try await store.reclaim()
        _ = try await store.journal(of: messages[0].lease.sequence)
        _ = try await store.event(event, for: messages[2].lease.sequence)
        _ = try await store.tasks(TaskQuery(name, limit: 5, withResult: true))
        try await expectSearches([
            (
                "CROSS JOIN penstock_task AS task ON task.sequence = wanted.value",
                "task USING INTEGER PRIMARY KEY (rowid=?)"
            ),
            ("parent = ?1 AND child > ?2 ORDER BY child", "PRIMARY KEY (parent=? AND child>?)"),
            ("child > ?2 AND state <> 'met' ORDER BY child", "PRIMARY KEY (parent=? AND child>?)"),
            ("dependency.child > 0 AND state <> 'met'", "PRIMARY KEY (parent=? AND child>?)"),
            ("UPDATE penstock_dependency SET state = 'met'", "PRIMARY KEY (parent=? AND child>? AND child<?)"),
            ("dependency.state IN ('open', 'failed')", "penstock_dependency_child (child=? AND state=?)"),
            ("attempt, forgiven, marks, ?3 FROM penstock_pending\n", "PRIMARY KEY (queue_id=? AND sequence=?)"),
            (
                "EXISTS (SELECT 1 FROM penstock_dependency WHERE child",
                "penstock_dependency_child (child=? AND state=?)"
            ),
            ("workflow_id = ?1 AND sequence > ?2", "penstock_task_workflow (workflow_id=? AND rowid>?)"),
            ("task.sequence > ?2 ORDER BY", "penstock_task_workflow (workflow_id=? AND rowid>?)"),
            ("AND task.sequence BETWEEN", "penstock_dependency_child (child=?)"),
        ])
        let retention = Retention(age: .zero, count: 5, deadAge: .zero)
        _ = try await store.prune(PruneRequest(queue: .mail, retention: retention, limit: 10))
        try await expectSearches([])
        try await store.close()
    }

    /// Statistics of a day on which there was hardly anything: SQLite then makes filters of whole tables.
    @Test func statisticsOfSmallTablesDoNoHarm() async throws {
        _ = try await store.start(
            NewWorkflow(tasks: [
                NewTask(TaskName(stored: "a"), queue: .mail, message: .text("a")),
                NewTask(TaskName(stored: "b"), queue: .mail, message: .text("b")),
                NewTask(
                    TaskName(stored: "c"), queue: .mail, message: .text("c"),
                    dependencies: ["a", "b"].map { Dependency(on: TaskName(stored: $0)) }),
                NewTask(
                    TaskName(stored: "d"), queue: .mail, message: .text("d"),
                    dependencies: ["a", "b"].map { Dependency(on: TaskName(stored: $0)) }),
            ]), durability: .processCrash)
        try await analyze(true)
        let parents = try await store.take(2, from: .mail, lease: .seconds(3600))
        _ = try await store.settle(parents.map { Settlement($0.lease, .done) })
        let children = try await store.take(2, from: .mail, lease: .seconds(3600))
        #expect(children.count == 2)
        _ = try await store.tasks(TaskQuery(WorkflowName(firstTask: parents[0].lease.sequence)))
        for (sql, steps) in try await plans() {
            #expect(!steps.contains { $0.contains("BLOOM FILTER") }, "\(sql)\n\(steps)")
        }
        try await store.close()
    }
}
