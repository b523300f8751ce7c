import PenstockCore

/// What messages leave behind beside the log and the line, which goes with them: results, steps, events, and what made them
/// tasks. With their last task workflows go.
struct Traces {
    /// Whether there are tasks at all.
    let hasTasks: Bool
    private let others: [Query]
    /// Workflows that lost a task.
    private var workflows: Set<Int64> = []

    /// Looks which of the tables have rows, so that nothing is asked of the others: one statement for all of them.
    init(_ connection: Connection) throws {
        let found = try connection.first(Self.any) { row in
            (0...Self.tables.count).map { row.integer($0) != 0 }
        }
        let hasRows = found ?? []
        hasTasks = hasRows.first ?? false
        others = zip(Self.tables, hasRows.dropFirst()).filter(\.1).map(\.0.delete)
    }

    /// Removes the traces of messages that are gone, each of them.
    mutating func forget(_ sequences: ClosedRange<Int64>, _ connection: Connection) throws {
        func run(_ query: Query) throws {
            try connection.run(query) { row in
                row.bind(sequences.lowerBound, at: 1)
                row.bind(sequences.upperBound, at: 2)
            }
        }
        for query in others { try run(query) }
        guard hasTasks else { return }
        let left = try connection.all(
            Self.selectWorkflows, .integer(sequences.lowerBound), .integer(sequences.upperBound)
        ) { $0.integer(0) }
        if left.isEmpty { return }
        workflows.formUnion(left)
        try run(Self.deleteAsChildren)
        try run(Self.deleteTasks)
    }

    /// Removes the workflows that have lost their last task, with their events.
    mutating func forgetWorkflows(_ connection: Connection) throws {
        for id in workflows {
            guard try connection.first(Self.anyTaskOf, .integer(id), read: { _ in true }) == nil else { continue }
            try connection.run(Self.deleteEvents, .integer(id))
            try connection.run(Self.deleteWorkflow, .integer(id))
        }
        workflows = []
    }

    /// For each table what is true of the rows of messages, and what deletes them.
    private static let tables: [(name: String, rows: String, delete: Query)] = [
        ("result", "sequence > 0"), ("step", "sequence > 0"), ("event", "workflow_id = 0 AND sequence > 0"),
        ("awaited", "sequence > 0"), ("cancel", "sequence > 0"), ("progress", "sequence > 0"),
    ].map { name, rows in
        let delete = "DELETE FROM penstock_\(name) WHERE \(rows) AND sequence BETWEEN ?1 AND ?2"
        return (name, rows, Query(delete))
    }
    /// Whether there are tasks, and then for each table whether it has such rows.
    private static let any = Query(
        "SELECT EXISTS (SELECT 1 FROM penstock_task WHERE sequence > 0)"
            + tables.map { ", EXISTS (SELECT 1 FROM penstock_\($0.name) WHERE \($0.rows))" }.joined())
    private static let selectWorkflows = Query(
        "SELECT workflow_id FROM penstock_task WHERE sequence BETWEEN ?1 AND ?2")
    // Those in which the message is the parent say of its children what was decided when it went. They go with the children.
    private static let deleteAsChildren = Query(
        "DELETE FROM penstock_dependency INDEXED BY penstock_dependency_child WHERE child BETWEEN ?1 AND ?2")
    private static let deleteTasks = Query("DELETE FROM penstock_task WHERE sequence BETWEEN ?1 AND ?2")
    private static let anyTaskOf = Query(
        "SELECT 1 FROM penstock_task INDEXED BY penstock_task_workflow WHERE workflow_id = ?1 LIMIT 1")
    private static let deleteEvents = Query("DELETE FROM penstock_event WHERE workflow_id = ?1 AND sequence = 0")
    private static let deleteWorkflow = Query("DELETE FROM penstock_workflow WHERE id = ?1")
}
