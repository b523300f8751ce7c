import PenstockCore

/// Which messages are tasks.
enum TaskRows {
    /// Makes messages tasks of a workflow.
    static func insert(
        _ tasks: [NewTask], _ sequences: [Int64], workflowID: Int64, _ connection: Connection
    ) throws {
        try inserts.run(Array(zip(tasks, sequences)), connection) { statement, row, index in
            let (task, sequence) = row
            var (due, delay): (Int64?, Int64?) = (nil, nil)
            if !task.dependencies.isEmpty {
                switch task.message.due {
                case .now: break
                case .after(let duration): delay = duration.wholeMicroseconds
                case .at(let moment): due = moment.microseconds
                }
            }
            statement.bind(sequence, at: index)
            statement.bind(workflowID, at: index + 1)
            statement.bind(task.name.text, at: index + 2)
            statement.bind(Value(due), at: index + 3)
            statement.bind(Value(delay), at: index + 4)
        }
    }

    /// Whether message `sequence` is a task.
    static func has(_ sequence: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(find, .integer(sequence))
    }

    static func tasks(among set: MessageSet, _ connection: Connection) throws -> [Int64] {
        try connection.all(findAll, on: set) { $0.integer(0) }
    }

    static func workflow(of sequence: Int64, _ connection: Connection) throws -> Int64? {
        try connection.integer(readWorkflow, .integer(sequence))
    }

    /// When task `sequence` is due if it waits for none any more at `now`; `nil` when that is at once.
    static func due(of sequence: Int64, at now: Timestamp, _ connection: Connection) throws -> Timestamp? {
        let (moment, delay) =
            try connection.first(readDue, .integer(sequence)) { ($0.optionalInteger(0), $0.optionalInteger(1)) }
            ?? (nil, nil)
        var due = moment.map { $0.clamped(to: StoredRange.times) }
        if let delay {
            let delayed = now.microseconds + delay.clamped(to: 0...Limits.delayMax.wholeMicroseconds)
            due = max(due ?? 0, delayed)
        }
        guard let due, due > now.microseconds else { return nil }
        return Timestamp(microseconds: due)
    }

    private static let inserts = BulkInsert(
        into: "penstock_task", ["sequence", "workflow_id", "name", "due_at", "delay"])
    private static let findAll = MessageSetQuery { "SELECT sequence FROM penstock_task WHERE sequence \($0)" }
    private static let find = Query("SELECT 1 FROM penstock_task WHERE sequence = ?1")
    private static let readWorkflow = Query("SELECT workflow_id FROM penstock_task WHERE sequence = ?1")
    private static let readDue = Query("SELECT due_at, delay FROM penstock_task WHERE sequence = ?1")
}
