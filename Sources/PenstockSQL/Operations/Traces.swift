import PenstockCore

/// What messages leave behind beside the line: the log, attempts, results, steps, events, and what made them tasks. With their last
/// task workflows go.
struct Traces {
    let hasTasks: Bool
    private let others: [MessageSetQuery]

    /// Looks which of the tables have rows, so that nothing is asked of the others: one statement for all of them.
    init(_ connection: Connection) throws {
        let found = try connection.first(Self.any) { row in
            (0...Self.tables.count).map { row.integer($0) != 0 }
        }
        let hasRows = found ?? []
        hasTasks = hasRows.first ?? false
        others = zip(Self.tables, hasRows.dropFirst()).filter(\.1).map(\.0.delete)
    }

    /// Removes all traces of messages that have no place in the line any more.
    func forget(_ set: MessageSet, _ connection: Connection) throws {
        if hasTasks {
            let workflows = Set(try connection.all(Self.selectWorkflows, on: set) { $0.integer(0) })
            if !workflows.isEmpty {
                try connection.run(Self.deleteAsChildren, on: set)
                try connection.run(Self.deleteTasks, on: set)
                try Self.forgetEmpty(workflows, connection)
            }
        }
        for query in others { try connection.run(query, on: set) }
        try connection.run(Self.deleteAttempts, on: set)
        try connection.run(Self.deleteLog, on: set)
    }

    /// Removes those of these workflows that have lost their last task, with their events.
    private static func forgetEmpty(_ workflows: Set<Int64>, _ connection: Connection) throws {
        for id in workflows {
            if try connection.has(anyTaskOf, .integer(id)) { continue }
            try connection.run(deleteEvents, .integer(id))
            try connection.run(deleteWorkflow, .integer(id))
        }
    }

    /// For each table what is true of the rows of messages, and what deletes those of some.
    private static let tables: [(name: String, rows: String, delete: MessageSetQuery)] = [
        ("result", ""), ("step", ""), ("event", "workflow_id = 0 AND "), ("awaited", ""), ("cancel", ""),
        ("progress", ""),
    ].map { name, isOfMessage in
        let delete = MessageSetQuery { "DELETE FROM penstock_\(name) WHERE \(isOfMessage)sequence \($0)" }
        return (name, "\(isOfMessage)sequence > 0", delete)
    }
    /// Whether there are tasks, and then for each table whether it has such rows.
    private static let any = Query(
        "SELECT EXISTS (SELECT 1 FROM penstock_task WHERE sequence > 0)"
            + tables.map { ", EXISTS (SELECT 1 FROM penstock_\($0.name) WHERE \($0.rows))" }.joined())
    private static let selectWorkflows = MessageSetQuery {
        "SELECT workflow_id FROM penstock_task WHERE sequence \($0)"
    }
    // Those in which the message is the parent say of its children what was decided when it went. They go with the children.
    private static let deleteAsChildren = MessageSetQuery {
        "DELETE FROM penstock_dependency INDEXED BY penstock_dependency_child WHERE child \($0)"
    }
    private static let deleteTasks = MessageSetQuery { "DELETE FROM penstock_task WHERE sequence \($0)" }
    private static let deleteAttempts = MessageSetQuery { "DELETE FROM penstock_attempt WHERE sequence \($0)" }
    private static let deleteLog = MessageSetQuery { "DELETE FROM penstock_log WHERE sequence \($0)" }
    private static let anyTaskOf = Query(
        "SELECT 1 FROM penstock_task INDEXED BY penstock_task_workflow WHERE workflow_id = ?1 LIMIT 1")
    private static let deleteEvents = Query("DELETE FROM penstock_event WHERE workflow_id = ?1 AND sequence = 0")
    private static let deleteWorkflow = Query("DELETE FROM penstock_workflow WHERE id = ?1")
}
