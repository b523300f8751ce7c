package import PenstockCore

/// What is to be seen to when a message moves on. It travels with the message's row from table to table, and spares all others
/// a look: their marks are 0. The numbers are those of `0012_pending.sql`, `0014_groups.sql`, `0017_running.sql`,
/// `0019_starts.sql` and `0025_group_starts.sql`.
package struct Marks: OptionSet {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let uniqueKey = Marks(rawValue: 1)
    /// It is a task of a workflow, whose end others may wait for.
    package static let task = Marks(rawValue: 2)
    /// It waits for an event, and has a row in `penstock_awaited`.
    package static let awaitsEvent = Marks(rawValue: 4)
    package static let group = Marks(rawValue: 8)
    /// It expires, and has a row in `penstock_expiry` unless a worker has it.
    package static let expiry = Marks(rawValue: 16)
    /// It holds its unique key only while it waits. A worker's, and one that has found its key taken as it came back, has no
    /// ``uniqueKey`` beside this.
    package static let keyWhileWaiting = Marks(rawValue: 32)
    /// It is leased, its worker is asked to end, and it has a row in `penstock_cancel`.
    package static let cancelRequested = Marks(rawValue: 64)
    /// Somebody waits for its end, and its log is rung for then.
    package static let endAwaited = Marks(rawValue: 128)
    /// It is leased, its worker says how far it has come, and it has a row in `penstock_progress`.
    package static let hasProgress = Marks(rawValue: 256)
    /// It is blocked, and goes first of its group, which is in order: it had the permit, and its work has begun.
    package static let goesFirst = Marks(rawValue: 512)
    /// It is scheduled, since its handler has stopped to wait.
    package static let suspended = Marks(rawValue: 1024)
    /// What a message has only while it is leased.
    package static let ofLease: Marks = [.cancelRequested, .hasProgress]

    /// ``expiry`` and ``group`` of a row of the log that is accepted, as SQL.
    static let acceptedSQL = """
        CASE WHEN expires_at IS NULL THEN 0 ELSE \(expiry.rawValue) END
            + CASE WHEN group_key IS NULL THEN 0 ELSE \(group.rawValue) END
        """

    /// Those of a message as it is accepted.
    package init(of message: NewMessage) {
        self = []
        if let key = message.uniqueKey { formUnion(Self.held(key.scope)) }
        if message.group != nil { insert(.group) }
        if message.expiry != nil { insert(.expiry) }
    }
}

extension Marks {
    /// Those of a message that has just got its unique key.
    package static func held(_ scope: KeyScope) -> Marks {
        switch scope {
        case .untilEnded: .uniqueKey
        case .whileWaiting: [.uniqueKey, .keyWhileWaiting]
        // Nothing that becomes of the message frees the key.
        case .period: []
        }
    }
}

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

    /// The columns of tasks that say when one is due which waits for none any more.
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

/// Which scheduled messages wait for an event.
enum Awaiting {
    /// Writes down that message `sequence` goes on when an event of that name comes.
    static func begin(_ sequence: Int64, _ name: EventName, workflowID: Int64?, _ connection: Connection) throws {
        try connection.run(insert, .integer(sequence), .integer(workflowID ?? 0), .text(name.text))
    }

    /// Forgets what message `sequence` waits for.
    static func end(_ sequence: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(sequence))
    }

    /// The event that message `sequence` waits for.
    static func name(of sequence: Int64, _ connection: Connection) throws -> String? {
        try connection.first(readName, .integer(sequence)) { $0.text(0) } ?? nil
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_awaited (sequence, workflow_id, name) VALUES (?1, ?2, ?3)")
    private static let delete = Query("DELETE FROM penstock_awaited WHERE sequence = ?1")
    private static let readName = Query("SELECT name FROM penstock_awaited WHERE sequence = ?1")
}
