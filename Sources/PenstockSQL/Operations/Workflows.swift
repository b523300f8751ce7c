package import PenstockCore

/// Starting and cancelling workflows, and adding tasks to one.
package enum Workflows {
    /// Carries out one call of ``MessageStore/start(_:durability:)``; the workflow was checked.
    package static func start(
        _ workflow: NewWorkflow, durability: Durability, in transaction: Transaction
    ) throws -> StartedWorkflow {
        let connection = transaction.connection
        if let name = workflow.name, let id = try find(name, connection) {
            // The other start may not have waited for the disk; this answer says that it is there.
            if durability == .powerLoss { transaction.flush() }
            let receipts = try WorkflowReading.states(of: id, limit: Limits.rowsMax, connection).map { task in
                Receipt(
                    sequence: SequenceNumber(task.sequence), state: task.state, durability: durability, skipped: true)
            }
            return StartedWorkflow(name: name, receipts: receipts, isNew: false)
        }
        if let name = workflow.name { try NameRules.refuseUnseen(name.text, of: "workflow") }
        var tasks = try Tasks(workflow.tasks, durability: durability, in: transaction)
        let sequences = try tasks.writeLog()
        guard let first = sequences.first else {
            throw PenstockError(.invalidInput, "A workflow has at least one task.")
        }
        let name = try workflow.name ?? freeName(first, connection)
        try connection.run(insert, .integer(first), .text(name.text), .integer(transaction.now.microseconds))
        var receipts = try tasks.place(sequences, workflowID: first)
        // What depends on those that were dropped as they came, or went for others, is told at once.
        try Cascade.perform(in: transaction)
        if tasks.hasDropped {
            for index in receipts.indices {
                guard let entry = try Line.locate(receipts[index].sequence.rawValue, in: transaction) else { continue }
                receipts[index].state = entry.state
            }
        }
        return StartedWorkflow(name: name, receipts: receipts, isNew: true)
    }

    /// A name for a workflow that was given none. Somebody may have given its own to another one.
    ///
    /// - Parameter taken: names that are given to others in the same transaction.
    static func freeName(
        _ first: Int64, besides taken: Set<WorkflowName> = [], _ connection: Connection
    ) throws -> WorkflowName {
        let own = WorkflowName(firstTask: SequenceNumber(first))
        var (name, number) = (own, 1)
        while try taken.contains(name) || find(name, connection) != nil {
            number += 1
            name = WorkflowName(stored: "\(own)-\(number)")
        }
        return name
    }

    /// Begins to cancel a workflow. What is too much for one transaction is left in `penstock_cascade`.
    ///
    /// - Returns: how many tasks have not ended, and are cancelled or asked to end.
    package static func cancel(_ name: WorkflowName, in transaction: Transaction) throws -> Int {
        let connection = transaction.connection
        guard let id = try find(name, connection) else { throw PenstockError.unknown(name) }
        try refuseArriving(id, in: transaction)
        let openCount = Int(try connection.integer(countOpen, .integer(id)) ?? 0)
        if openCount > 0 {
            try connection.run(setCancelled, .integer(id), .integer(transaction.now.microseconds))
            transaction.cascade.note(cancelled: id)
            try Cascade.perform(in: transaction)
        }
        return openCount
    }

    /// Throws `queueDeleting` when the tasks of a workflow are copied here, and not all of them are there.
    static func refuseArriving(_ id: Int64, in transaction: Transaction) throws {
        guard let queue = try transaction.connection.integer(selectQueue, .integer(id)) else { return }
        try transaction.account(id: queue)?.refuseArriving(in: transaction)
    }

    /// Adds tasks to the workflow of a task that is about to be done. Nothing is written when it throws.
    package static func add(
        _ added: AddedTasks, by entry: LineEntry, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        guard entry.marks.contains(.task), let id = try TaskRows.workflow(of: entry.sequence, connection) else {
            throw PenstockError(
                .invalidInput,
                "Message \(entry.sequence) is no task of a workflow, and so it cannot add tasks to one; nothing was settled."
            )
        }
        if added.tasks.isEmpty { return }
        try refuseTooMany(added, id, connection)
        for task in added.tasks where try findTask(task.name, of: id, connection) != nil {
            throw PenstockError(
                .invalidInput, "The workflow has a task called '\(task.name)' already; nothing was settled.")
        }
        let waiting = added.isAwaited ? try waitingChildren(of: entry.sequence, connection) : []
        guard waiting.count * added.tasks.count <= Limits.dependencyCountMax else {
            throw PenstockError(
                .invalidInput,
                "\(waiting.count) tasks would wait for \(added.tasks.count) more each, and the most is "
                    + "\(Limits.dependencyCountMax) dependencies (dependencyCountMax); let one of the added tasks wait for the "
                    + "others. Nothing was settled.")
        }
        var tasks = try Tasks(added.tasks, durability: .processCrash, in: transaction)
        let sequences = try tasks.writeLog()
        // Before the task's own dependencies are met: a task that waits for it never slips through.
        let rows = waiting.flatMap { child in
            sequences.map { DependencyRows.New(parent: $0, child: child, need: .done(whenDead: .cancel)) }
        }
        try DependencyRows.insert(rows, connection)
        _ = try tasks.place(sequences, workflowID: id)
        // Of a workflow that was cancelled nothing begins any more, also if a task of it was done all the same.
        if entry.marks.contains(.cancelRequested), try connection.has(readCancelled, .integer(id)) {
            transaction.cascade.note(cancelled: id)
        }
    }

    private static func refuseTooMany(_ added: AddedTasks, _ id: Int64, _ connection: Connection) throws {
        let count = Int(try connection.integer(countTasks, .integer(id)) ?? 0)
        guard count + added.tasks.count <= Limits.taskCountMax else {
            throw PenstockError(
                .invalidInput,
                "The workflow has \(count) tasks, and with \(added.tasks.count) more it would have more than "
                    + "\(Limits.taskCountMax) (taskCountMax); nothing was settled.")
        }
    }

    /// Those that wait for a task, and those that may wait for it again: cancelled as they waited in vain for another one, or dead as
    /// they expired. A redrive brings them back.
    private static func waitingChildren(of sequence: Int64, _ connection: Connection) throws -> [Int64] {
        try connection.all(selectWaitingChildren, .integer(sequence)) { $0.integer(0) }
    }

    package static func find(_ name: WorkflowName, _ connection: Connection) throws -> Int64? {
        try connection.integer(selectNamed, .text(name.text))
    }

    /// Whether a task of the workflow has not ended.
    package static func hasOpen(_ id: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(anyOpen, .integer(id))
    }

    package static func findTask(_ name: TaskName, of id: Int64, _ connection: Connection) throws -> Int64? {
        try connection.integer(selectTask, .integer(id), .text(name.text))
    }

    private static let selectNamed = Query("SELECT id FROM penstock_workflow WHERE name = ?1")
    private static let selectTask = Query("SELECT sequence FROM penstock_task WHERE workflow_id = ?1 AND name = ?2")
    private static let insert = Query("INSERT INTO penstock_workflow (id, name, started_at) VALUES (?1, ?2, ?3)")
    private static let setCancelled = Query(
        "UPDATE penstock_workflow SET cancelled_at = ?2 WHERE id = ?1 AND cancelled_at IS NULL")
    private static let readCancelled = Query(
        "SELECT 1 FROM penstock_workflow WHERE id = ?1 AND cancelled_at IS NOT NULL")
    /// Tasks of a workflow whose messages have not ended.
    private static let open = """
        FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_log AS log ON log.sequence = task.sequence
        WHERE task.workflow_id = ?1 AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence)
        """
    private static let selectQueue = Query(
        """
        SELECT log.queue_id FROM penstock_task AS task JOIN penstock_log AS log ON log.sequence = task.sequence
        WHERE task.workflow_id = ?1 LIMIT 1
        """)
    private static let countOpen = Query("SELECT count(*) \(open)")
    // From the last task on: it is mostly the one that ends last.
    private static let anyOpen = Query("SELECT 1 \(open) ORDER BY task.sequence DESC LIMIT 1")
    private static let countTasks = Query("SELECT count(*) FROM penstock_task WHERE workflow_id = ?1")
    private static let selectWaitingChildren = Query(
        """
        SELECT dependency.child FROM penstock_dependency AS dependency
        CROSS JOIN penstock_log AS log ON log.sequence = dependency.child
        WHERE dependency.parent = ?1 AND (
            EXISTS (SELECT 1 FROM penstock_pending AS pending
                WHERE pending.queue_id = log.queue_id AND pending.sequence = log.sequence)
            OR EXISTS (SELECT 1 FROM penstock_outcome AS outcome
                WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
                    AND (outcome.state = 'cancelled' AND outcome.reason = 'parentFailed'
                        OR outcome.state = 'dead' AND dependency.state = 'open')))
        ORDER BY dependency.child
        """)
}
