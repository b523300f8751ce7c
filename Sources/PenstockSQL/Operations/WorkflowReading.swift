import PenstockCore

/// Reads workflows and their tasks. Everything in an answer is of the snapshot that `connection` reads.
enum WorkflowReading {
    /// A task's message, as it is now.
    struct State {
        var sequence: Int64
        var name: TaskName
        var queue: QueueName
        var state: MessageState
        var reason: StateReason?
        var resultBytes: Int
    }

    /// Answers one query, in the order in which the workflows were started.
    static func workflows(_ query: WorkflowQuery, _ connection: Connection) throws -> [WorkflowRecord] {
        var records: [WorkflowRecord]
        if let name = query.name {
            records = try connection.all(selectNamed, .text(name.text), read: record)
            guard !records.isEmpty else { throw PenstockError.unknown(name) }
            records.removeAll { $0.id <= query.after ?? .min || $0.id >= query.preceding ?? .max }
        } else {
            records = try connection.all(
                query.end == .first ? selectFirst : selectLast, .integer(query.after ?? 0),
                .integer(query.preceding ?? .max), .integer(Int64(min(query.limit, Limits.rowsMax))), read: record)
            if query.end == .last { records.reverse() }
        }
        for index in records.indices {
            let counts = try connection.all(countStates, .integer(records[index].id)) { row in
                (row.text(0).flatMap(MessageState.init), Int(row.integer(1)))
            }
            for case (let state?, let count) in counts { records[index].counts[state] = count }
        }
        return records
    }

    private static func record(_ row: PreparedStatement) -> WorkflowRecord {
        WorkflowRecord(
            id: row.integer(0), name: WorkflowName(stored: row.text(1) ?? ""),
            startedAt: Timestamp(microseconds: row.integer(2)),
            cancelledAt: row.optionalInteger(3).map(Timestamp.init(microseconds:)), counts: [:])
    }

    /// Answers one query, in the order of the log.
    static func tasks(_ query: TaskQuery, _ connection: Connection) throws -> [TaskRecord] {
        guard let id = try Workflows.find(query.workflow, connection) else {
            throw PenstockError.unknown(query.workflow)
        }
        let after = query.after?.rawValue ?? 0
        var states: [State]
        if let name = query.name {
            guard let sequence = try Workflows.findTask(name, of: id, connection) else {
                throw PenstockError(
                    .unknownTask, "The workflow '\(query.workflow)' has no task called '\(name)'; look at its name.")
            }
            // What the file says may be the lowest number there is.
            let before = max(sequence, .min + 1) - 1
            states = try Self.states(of: id, after: before, limit: 1, connection)
            states.removeAll { $0.sequence != sequence || sequence <= after }
        } else {
            states = try Self.states(of: id, after: after, limit: min(query.limit, Limits.rowsMax), connection)
        }
        if query.withResult {
            var page = PageBytes()
            states = Array(states.prefix { page.admits($0.resultBytes) })
        }
        guard let first = states.first, let last = states.last else { return [] }
        let dependencies = try dependencies(of: id, first.sequence...last.sequence, connection)
        return try states.map { task in
            TaskRecord(
                name: task.name, sequence: SequenceNumber(task.sequence), queue: task.queue, state: task.state,
                reason: task.reason, dependencies: dependencies[task.sequence] ?? [],
                result: query.withResult && task.resultBytes >= 0
                    ? try Journals.result(of: task.sequence, connection) : nil)
        }
    }

    /// Up to `limit` tasks of a workflow, in the order of the log. One whose message is not there is left out.
    static func states(
        of id: Int64, after: Int64 = 0, limit: Int, _ connection: Connection
    ) throws -> [State] {
        try connection.all(selectStates, .integer(id), .integer(after), .integer(Int64(limit))) { row in
            State(
                sequence: row.integer(0), name: TaskName(stored: row.text(1) ?? ""),
                queue: QueueName(stored: row.text(2) ?? ""),
                state: row.text(3).flatMap(MessageState.init) ?? .cancelled,
                reason: row.text(4).flatMap(StateReason.init), resultBytes: Int(row.integer(5)))
        }
    }

    /// What the tasks of a page wait for or have waited for. Those that are gone have no name any more, and are left out.
    private static func dependencies(
        of id: Int64, _ children: ClosedRange<Int64>, _ connection: Connection
    ) throws -> [Int64: [DependencyRecord]] {
        let rows = try connection.all(
            selectDependencies, .integer(id), .integer(children.lowerBound), .integer(children.upperBound)
        ) { row in
            (
                child: row.integer(0),
                record: DependencyRecord(
                    Dependency(
                        on: TaskName(stored: row.text(2) ?? ""),
                        need: Dependency.Need(stored: row.text(3), whenDead: row.text(4))),
                    state: row.text(5).flatMap(DependencyState.init) ?? .open),
                parent: row.integer(1)
            )
        }
        return Dictionary(grouping: rows, by: \.child).mapValues { rows in
            rows.sorted { $0.parent < $1.parent }.map(\.record)
        }
    }

    /// The state of the message of the row `task`, whose row in the log is `log`, as SQL. Most have ended, and are not looked for
    /// elsewhere.
    private static let state = """
        coalesce(
            (SELECT outcome.state FROM penstock_outcome AS outcome
                WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence),
            CASE WHEN EXISTS (SELECT 1 FROM penstock_lease AS line WHERE line.sequence = log.sequence) THEN 'leased'
            WHEN EXISTS (SELECT 1 FROM penstock_scheduled AS line WHERE line.sequence = log.sequence) THEN 'scheduled'
            WHEN EXISTS (SELECT 1 FROM penstock_pending AS line
                WHERE line.queue_id = log.queue_id AND line.sequence = log.sequence) THEN 'pending'
            WHEN EXISTS (SELECT 1 FROM penstock_blocked AS line
                WHERE line.queue_id = log.queue_id AND line.sequence = log.sequence) THEN 'blocked'
            ELSE 'ready' END)
        """
    private static let selection = "SELECT id, name, started_at, cancelled_at FROM penstock_workflow"
    private static let selectNamed = Query("\(selection) WHERE name = ?1")
    private static let selectFirst = Query("\(selection) WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3")
    private static let selectLast = Query("\(selection) WHERE id > ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3")
    private static let countStates = Query(
        """
        SELECT \(state) AS state, count(*)
        FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_log AS log ON log.sequence = task.sequence
        WHERE task.workflow_id = ?1 GROUP BY 1
        """)
    private static let selectStates = Query(
        """
        SELECT task.sequence, task.name, queue.name, \(state),
            (SELECT outcome.reason FROM penstock_outcome AS outcome
                WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence),
            coalesce((SELECT length(result.result) FROM penstock_result AS result
                WHERE result.sequence = task.sequence), -1)
        FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_log AS log ON log.sequence = task.sequence
        CROSS JOIN penstock_queue AS queue ON queue.id = log.queue_id
        WHERE task.workflow_id = ?1 AND task.sequence > ?2 ORDER BY task.sequence LIMIT ?3
        """)
    private static let selectDependencies = Query(
        """
        SELECT dependency.child, dependency.parent, parent.name, dependency.need, dependency.when_dead, dependency.state
        FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_dependency AS dependency INDEXED BY penstock_dependency_child ON dependency.child = task.sequence
        CROSS JOIN penstock_task AS parent ON parent.sequence = dependency.parent
        WHERE task.workflow_id = ?1 AND task.sequence BETWEEN ?2 AND ?3
        """)
}

/// Which task of which workflow a message is.
enum TaskPlaces {
    /// Fills in the places of the messages that are tasks, with one query for all of them.
    static func fill(_ messages: inout [ClaimedMessage], _ connection: Connection) throws {
        let wanted = Value.sequences(messages.map(\.lease.sequence.rawValue))
        let found = try connection.all(select, wanted) { ($0.integer(0), place($0)) }
        let places = Dictionary(found, uniquingKeysWith: { first, _ in first })
        for index in messages.indices { messages[index].task = places[messages[index].lease.sequence.rawValue] }
    }

    static func place(of sequence: Int64, _ connection: Connection) throws -> TaskPlace? {
        try connection.first(select, .sequences([sequence]), read: place)
    }

    private static func place(_ row: PreparedStatement) -> TaskPlace {
        TaskPlace(
            workflow: WorkflowName(stored: row.text(1) ?? ""), task: TaskName(stored: row.text(2) ?? ""))
    }

    private static let select = Query(
        """
        SELECT task.sequence, workflow.name, task.name
        FROM json_each(?1) AS wanted
        CROSS JOIN penstock_task AS task ON task.sequence = wanted.value
        CROSS JOIN penstock_workflow AS workflow ON workflow.id = task.workflow_id
        """)
}
