import PenstockCore

/// Carrying the ends and the returns of tasks on to what depends on them.
///
/// Each dependency of a task is compared with what it must be as its task is now, and changed where it differs. So a pass can be
/// left at any point, by this process or by its death, and begun again by any other: what agrees already is not touched.
/// After each COMMIT every dependency agrees with its task, or `penstock_cascade` has a row for that task.
package enum Cascade {
    /// Goes through what was noted, as far as one transaction does and has time for: one dependency at least.
    package static func perform(in transaction: Transaction) throws {
        func goesOn() -> Bool {
            transaction.cascade.left > 0 && (transaction.cascade.handledCount == 0 || !transaction.isOverdue)
        }
        // A list and no recursion: a chain may be as long as a workflow is.
        while goesOn(), let item = transaction.cascade.next() {
            if item.subject.sequence == 0 {
                try cancelTasks(item, in: transaction)
            } else if item.subject.workflowID > 0, item.subject.sequence == CascadeWork.Subject.event {
                try wakeTasks(item, in: transaction)
            } else {
                try tellDependents(item, in: transaction)
            }
        }
    }

    /// Takes up what others have left, for one bounded step.
    ///
    /// - Returns: whether there is more.
    @discardableResult
    package static func goOn(in transaction: Transaction) throws -> Bool {
        // One statement for those that find nothing, as nearly all do.
        guard try isUnfinished(transaction.connection) else {
            try perform(in: transaction)
            return !transaction.cascade.isEmpty
        }
        let limit = Int64(Limits.cascadeCountMax)
        if !transaction.cascade.hasGoneOn, transaction.cascade.left > 0 {
            transaction.cascade.hasGoneOn = true
            let connection = transaction.connection
            // Two statements, so that workflows come first.
            for query in [selectWorkflows, selectTasks] {
                let items = try connection.all(query, .integer(limit)) { row in
                    CascadeWork.Item(
                        subject: .init(workflowID: row.integer(0), sequence: row.integer(1)), after: row.integer(2))
                }
                for item in items { transaction.cascade.take(row: item) }
            }
            try perform(in: transaction)
        }
        return try !transaction.cascade.isEmpty || isUnfinished(transaction.connection)
    }

    /// Goes through what was noted and, where that is too much for one transaction, writes down what is left. Before COMMIT.
    package static func writeDown(in transaction: Transaction) throws {
        if transaction.cascade.isEmpty { return }
        try perform(in: transaction)
        for item in transaction.cascade.unwritten {
            try transaction.connection.run(
                insert, .integer(item.subject.workflowID), .integer(item.subject.sequence), .integer(item.after))
        }
    }

    /// Says that ``isUnfinished(_:)`` is about to be asked.
    static func prefetch(_ connection: Connection) throws { try connection.prefetch(any) }

    /// Whether somebody has left something.
    package static func isUnfinished(_ connection: Connection) throws -> Bool {
        try connection.has(any)
    }

    // MARK: Tasks that have ended or come back

    private struct DependencyRow {
        var child: Int64
        var need: Dependency.Need
        var state: DependencyState
    }

    private static func tellDependents(_ item: CascadeWork.Item, in transaction: Transaction) throws {
        let parent = item.subject.sequence
        let limit = transaction.cascade.left
        let entry = try Line.locate(parent, in: transaction)
        // One that is in the log, and has no place in the line, may yet get one by a repair, which notes it again.
        if try entry == nil && Quarantine.isInLog(parent, transaction.connection) {
            return try finish(item, in: transaction)
        }
        if entry?.state == .done {
            guard let last = try DoneTasks.tell(parent, after: item.after, in: transaction) else {
                return try finish(item, in: transaction)
            }
            return transaction.cascade.take(up: CascadeWork.Item(subject: item.subject, after: last))
        }
        let rows = try transaction.connection.all(
            selectDependencies, .integer(parent), .integer(item.after), .integer(Int64(limit) + 1)
        ) { row in
            DependencyRow(
                child: row.integer(0), need: Dependency.Need(stored: row.text(1), whenDead: row.text(2)),
                state: row.text(3).flatMap(DependencyState.init) ?? .open)
        }
        let passed = try seeTo(rows.prefix(limit), in: transaction) {
            try settle($0, of: parent, in: entry?.state, in: transaction)
        }
        try leave(item, at: rows.map(\.child), passed: passed, in: transaction)
    }

    /// Makes one dependency agree with the state of its task, and sees to what that is to the one that waits.
    ///
    /// - Parameter state: `nil` when the task is gone with its queue. It counts as cancelled then: nobody can do it any more.
    private static func settle(
        _ row: DependencyRow, of parent: Int64, in state: MessageState?, in transaction: Transaction
    ) throws {
        // Of a task that is gone stays what had been decided before: it may have been done.
        if state == nil, row.state != .open { return }
        let standing = Dependency.standing(of: row.need, whenTaskIs: state ?? .cancelled)
        guard standing != row.state, let child = try Line.locateTask(row.child, in: transaction) else { return }
        // What has been done stays so, also for a child that has gone on by hand.
        guard child.waitsForOthers || standing == .met else { return }
        try transaction.connection.run(
            writeState, .integer(parent), .integer(row.child), .text(standing.rawValue))
        try look(at: child, in: transaction)
    }

    /// Whether a message that is to be ready has to wait for others: a dead letter that had expired as it waited for them.
    package static func waitsAgain(_ entry: LineEntry, in transaction: Transaction) throws -> Bool {
        guard entry.state == .dead, entry.marks.contains(.task) else { return false }
        return try transaction.connection.first(readStandings, .integer(entry.sequence)) {
            $0.integer(0) != 0 || $0.integer(1) != 0
        } ?? false
    }

    /// Makes what a task waits for agree with where that is. It was told nothing while it was dead.
    package static func agree(_ sequence: Int64, in transaction: Transaction) throws {
        let rows = try transaction.connection.all(selectOpen, .integer(sequence)) { row in
            (
                parent: row.integer(0),
                row: DependencyRow(
                    child: sequence, need: Dependency.Need(stored: row.text(1), whenDead: row.text(2)), state: .open)
            )
        }
        for (parent, row) in rows {
            let entry = try Line.locate(parent, in: transaction)
            if try entry == nil && Quarantine.isInLog(parent, transaction.connection) { continue }
            try settle(row, of: parent, in: entry?.state, in: transaction)
        }
    }

    /// Moves task `sequence` to where its dependencies say, if it waits or was cancelled as it waited in vain.
    package static func look(at sequence: Int64, in transaction: Transaction) throws {
        if let child = try Line.locateTask(sequence, in: transaction) { try look(at: child, in: transaction) }
    }

    private static func look(at child: LineEntry, in transaction: Transaction) throws {
        guard child.waitsForOthers else { return }
        let standings = try transaction.connection.first(readStandings, .integer(child.sequence)) { row in
            (hasFailed: row.integer(0) != 0, hasOpen: row.integer(1) != 0)
        }
        guard let standings else { return }
        var child = child
        if standings.hasFailed {
            if child.state == .pending { try Line.move(child, by: .parentFailed, in: transaction) }
            return
        }
        if child.state == .cancelled {
            // It goes with its queue. Nobody who deletes that has been told that a message waits there.
            if child.account.isDeleting { return }
            try Line.move(child, by: .revived, in: transaction)
            child = try Line.locateTask(child.sequence, in: transaction) ?? child
        }
        if !standings.hasOpen {
            let due = try TaskRows.due(of: child.sequence, at: transaction.now, transaction.connection)
            try Line.move(child, by: .released(due: due), in: transaction)
        }
    }

    // MARK: Workflows that are cancelled

    private static func cancelTasks(_ item: CascadeWork.Item, in transaction: Transaction) throws {
        let limit = transaction.cascade.left
        let tasks = try transaction.connection.all(
            selectTasksOf, .integer(item.subject.workflowID), .integer(item.after), .integer(Int64(limit) + 1)
        ) { $0.integer(0) }
        let passed = try seeTo(tasks.prefix(limit), in: transaction) { task in
            guard let entry = try Line.locate(task, in: transaction), !entry.state.isFinished else { return }
            if entry.state == .leased {
                _ = try CancelRequests.make(entry, within: Limits.cancelTime, in: transaction)
            } else {
                try Line.move(entry, by: .cancelled, in: transaction)
            }
        }
        try leave(item, at: tasks, passed: passed, in: transaction)
    }

    // MARK: Workflows that an event came to

    /// Puts tasks in line that wait for an event which is there. Each of them waits no more then, so the rest is what is found next.
    private static func wakeTasks(_ item: CascadeWork.Item, in transaction: Transaction) throws {
        let limit = transaction.cascade.left
        let tasks = try transaction.connection.all(
            selectAwaiting, .integer(item.subject.workflowID), .integer(Int64(limit) + 1)
        ) { $0.integer(0) }
        let passed = try seeTo(tasks.prefix(limit), in: transaction) { try Events.wake($0, in: transaction) }
        try leave(item, at: tasks, passed: passed, in: transaction)
    }

    /// Sees to those that are found, as many as the transaction has time for, and to one at least.
    ///
    /// - Returns: how many those were.
    private static func seeTo<Found>(
        _ found: ArraySlice<Found>, in transaction: Transaction, _ see: (Found) throws -> Void
    ) throws -> Int {
        for (index, one) in found.enumerated() {
            if index > 0, transaction.isOverdue { return index }
            try see(one)
        }
        return found.count
    }

    /// Notes how far a subject was gone through: those that were found, of which the first `passed` were seen to.
    private static func leave(
        _ item: CascadeWork.Item, at found: [Int64], passed: Int, in transaction: Transaction
    ) throws {
        transaction.cascade.handled(passed)
        if found.count > passed {
            transaction.cascade.take(up: .init(subject: item.subject, after: found[passed - 1]))
        } else {
            try finish(item, in: transaction)
        }
    }

    private static func finish(_ item: CascadeWork.Item, in transaction: Transaction) throws {
        try transaction.connection.run(delete, .integer(item.subject.workflowID), .integer(item.subject.sequence))
        transaction.cascade.lostRow(of: item.subject)
    }

    // Not EXISTS over the whole table, as what goes through a table stands out in the tests of query plans.
    private static let any = Query("SELECT 1 FROM penstock_cascade WHERE workflow_id >= 0 LIMIT 1")
    private static let selectWorkflows = Query(
        "SELECT workflow_id, sequence, after FROM penstock_cascade WHERE workflow_id > 0 ORDER BY workflow_id LIMIT ?1")
    private static let selectTasks = Query(
        "SELECT workflow_id, sequence, after FROM penstock_cascade WHERE workflow_id = 0 ORDER BY sequence LIMIT ?1")
    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_cascade (workflow_id, sequence, after) VALUES (?1, ?2, ?3)")
    private static let delete = Query("DELETE FROM penstock_cascade WHERE workflow_id = ?1 AND sequence = ?2")
    private static let selectDependencies = Query(
        """
        SELECT child, need, when_dead, state FROM penstock_dependency
        WHERE parent = ?1 AND child > ?2 ORDER BY child LIMIT ?3
        """)
    private static let selectOpen = Query(
        """
        SELECT parent, need, when_dead FROM penstock_dependency WHERE child = ?1 AND state = 'open'
        """)
    private static let writeState = Query(
        "UPDATE penstock_dependency SET state = ?3 WHERE parent = ?1 AND child = ?2")
    private static let readStandings = Query(
        """
        SELECT EXISTS (SELECT 1 FROM penstock_dependency WHERE child = ?1 AND state = 'failed'),
            EXISTS (SELECT 1 FROM penstock_dependency WHERE child = ?1 AND state = 'open')
        """)
    private static let selectAwaiting = Query(
        """
        SELECT awaited.sequence FROM penstock_event AS event
        CROSS JOIN penstock_awaited AS awaited INDEXED BY penstock_awaited_workflow
            ON awaited.workflow_id = event.workflow_id AND awaited.name = event.name
        WHERE event.workflow_id = ?1 AND event.sequence = 0 LIMIT ?2
        """)
    private static let selectTasksOf = Query(
        """
        SELECT sequence FROM penstock_task INDEXED BY penstock_task_workflow
        WHERE workflow_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3
        """)
}
