import PenstockCore

/// What messages leave behind beside the line: the log, attempts, results, steps, events, and what made them tasks. With their last
/// task workflows go.
struct Traces {
    let hasTasks: Bool
    private let others: [MessageSetQuery]
    private let sizes: [MessageSetQuery]

    /// Looks which of the tables have rows, so that nothing is asked of the others: one statement for all of them.
    init(_ connection: Connection) throws {
        let found = try connection.first(Self.any) { row in
            (0...Self.tables.count + 1).map { row.integer($0) != 0 }
        }
        let hasRows = found ?? []
        hasTasks = hasRows.first ?? false
        let tables = zip(Self.tables, hasRows.dropFirst()).filter(\.1).map(\.0)
        others = tables.map(\.delete)
        sizes = tables.compactMap(\.size) + (hasRows.last == true ? [Self.workflowEventBytes] : [])
    }

    /// How many bytes the payload of each message of a set has. An engine knows the length of a value without reading it.
    static func payloadBytes(of set: MessageSet, _ connection: Connection) throws -> [Int64: Int64] {
        let rows = try connection.all(selectPayloadBytes, on: set) { ($0.integer(0), $0.integer(1)) }
        return Dictionary(rows) { first, _ in first }
    }

    /// Adds how many bytes the results, steps and events of each message of a set have, and the events of its workflow, which may go with
    /// it. Most files have none, and are asked nothing.
    func addOthers(of set: MessageSet, to bytes: inout [Int64: Int64], _ connection: Connection) throws {
        for query in sizes {
            for (sequence, count) in try connection.all(query, on: set, read: { ($0.integer(0), $0.integer(1)) }) {
                bytes[sequence, default: 0] += count
            }
        }
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

    private struct Table {
        var name: String
        /// What is true of the rows of messages.
        var rows: String
        /// Deletes those of some messages.
        var delete: MessageSetQuery
        /// How many bytes each of some messages has there; `nil`: few.
        var size: MessageSetQuery?

        init(_ name: String, where condition: String = "", large column: String? = nil) {
            self.name = name
            rows = "\(condition)sequence > 0"
            delete = MessageSetQuery { "DELETE FROM penstock_\(name) WHERE \(condition)sequence \($0)" }
            guard let column else { return }
            size = MessageSetQuery { isOfSet in
                """
                SELECT sequence, sum(length(\(column))) FROM penstock_\(name)
                WHERE \(condition)sequence \(isOfSet) GROUP BY sequence
                """
            }
        }
    }

    private static let tables = [
        Table("result", large: "result"), Table("step", large: "result"),
        Table("event", where: "workflow_id = 0 AND ", large: "payload"), Table("awaited"), Table("cancel"),
        Table("progress"),
    ]
    private static let selectPayloadBytes = MessageSetQuery {
        "SELECT sequence, length(payload) FROM penstock_log WHERE sequence \($0)"
    }
    /// Of the tasks that a workflow has left the last one is asked for its events: it is among those with which they go.
    private static let workflowEventBytes = MessageSetQuery { isOfSet in
        """
        SELECT task.sequence, sum(length(event.payload)) FROM penstock_task AS task
        CROSS JOIN penstock_event AS event ON event.workflow_id = task.workflow_id AND event.sequence = 0
        WHERE task.sequence \(isOfSet) AND NOT EXISTS (
            SELECT 1 FROM penstock_task AS later INDEXED BY penstock_task_workflow
            WHERE later.workflow_id = task.workflow_id AND later.sequence > task.sequence)
        GROUP BY task.sequence
        """
    }
    /// Whether there are tasks, for each table whether it has such rows, and whether workflows have events.
    private static let any = Query(
        "SELECT EXISTS (SELECT 1 FROM penstock_task WHERE sequence > 0)"
            + tables.map { ", EXISTS (SELECT 1 FROM penstock_\($0.name) WHERE \($0.rows))" }.joined()
            + ", EXISTS (SELECT 1 FROM penstock_event WHERE workflow_id > 0)")
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
