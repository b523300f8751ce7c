import PenstockCore

/// Telling the ends of many tasks that are done at once to those that wait for them: a few statements for all of them.
///
/// What is out of the ordinary is left to ``Cascade``, which goes through it task by task: more dependencies than one
/// transaction takes, and tasks that wait no more, or were cancelled as they waited in vain.
enum DoneTasks {
    /// A task that waits for one of those that are done.
    private struct Waiting {
        var child: Int64
        /// `nil` when it does not wait in line.
        var queueID: Int64?
        /// Whether it only has to be moved: it has no mark but that of a task, and is due as soon as it waits no more.
        var isPlain: Bool
    }

    /// What became of the tasks that wait for one.
    enum Told {
        /// Each was told.
        case all
        /// Those up to this one were told: there are more than one transaction goes through.
        case upTo(Int64)
        /// One of them does not wait in line any more. Nobody was told.
        case nobody
    }

    /// Tells those that wait for these tasks, which have ended, all of them done.
    static func tell(_ sequences: [Int64], in transaction: Transaction) throws {
        let list = SequenceList(sequences).json
        let waiting = try waiting(for: list, after: 0, in: transaction)
        if waiting.count <= transaction.cascade.left, waiting.allSatisfy({ $0.queueID != nil }) {
            transaction.cascade.handled(waiting.count)
            try meet(waiting, for: list, in: transaction)
        } else {
            for sequence in sequences { transaction.cascade.note(sequence) }
        }
    }

    /// Tells those that wait for a task that it is done, from the one behind `after` on.
    static func tell(_ sequence: Int64, after: Int64, in transaction: Transaction) throws -> Told {
        let list = SequenceList([sequence]).json
        let limit = transaction.cascade.left
        let found = try waiting(for: list, after: after, in: transaction)
        let told = Array(found.prefix(limit))
        guard told.allSatisfy({ $0.queueID != nil }) else { return .nobody }
        transaction.cascade.handled(told.count)
        try meet(told, for: list, in: transaction)
        return found.count > limit ? .upTo(told.last?.child ?? after) : .all
    }

    /// Those whose dependency on one of the tasks in `list` is not met, one more than this transaction goes through at most.
    private static func waiting(for list: String, after: Int64, in transaction: Transaction) throws -> [Waiting] {
        try transaction.connection.all(
            selectWaiting, .text(list), .integer(after), .integer(Int64(transaction.cascade.left) + 1)
        ) { row in
            Waiting(child: row.integer(0), queueID: row.optionalInteger(1), isPlain: row.integer(2) != 0)
        }
    }

    /// Writes down that the dependencies of `waiting`, which lie next to each other, are met. Whatever their tasks are needed
    /// for: they are done.
    private static func meet(_ waiting: [Waiting], for list: String, in transaction: Transaction) throws {
        guard let first = waiting.map(\.child).min(), let last = waiting.map(\.child).max() else { return }
        try transaction.connection.run(writeMet, .text(list), .integer(first), .integer(last))
        try release(waiting, in: transaction)
    }

    private static func release(_ waiting: [Waiting], in transaction: Transaction) throws {
        var places: [Int64: Waiting] = [:]
        for place in waiting { places[place.child] = place }
        let children = SequenceList(places.keys.sorted())
        let stillWaiting = try transaction.connection.all(selectBlocked, .text(children.json)) { $0.integer(0) }
        for child in stillWaiting { places[child] = nil }
        var plain: [Int64: [Int64]] = [:]
        for child in children.sequences {
            guard let place = places[child], let queueID = place.queueID else { continue }
            if place.isPlain { plain[queueID, default: []].append(child) } else { try release(child, in: transaction) }
        }
        for (queueID, children) in plain { try move(children, of: queueID, in: transaction) }
    }

    /// Puts tasks of one queue in line that are due at once.
    private static func move(_ children: [Int64], of queueID: Int64, in transaction: Transaction) throws {
        let list = SequenceList(children)
        guard children.count > 1, let account = try transaction.account(id: queueID) else {
            return try releaseEach(children, in: transaction)
        }
        do {
            try transaction.connection.run(insertReady, .integer(queueID), .text(list.json))
        } catch  where error.isContradiction {
            // One of them is in line already, going by the table. Each by itself finds out which.
            return try releaseEach(children, in: transaction)
        }
        try transaction.connection.run(deletePending, .integer(queueID), .text(list.json))
        account.change.count(.pending, -Int64(children.count))
        account.change.count(.ready, Int64(children.count))
        account.ring(messages: children.count)
    }

    private static func releaseEach(_ children: [Int64], in transaction: Transaction) throws {
        for child in children { try release(child, in: transaction) }
    }

    private static func release(_ child: Int64, in transaction: Transaction) throws {
        guard let entry = try Line.locateTask(child, in: transaction), entry.state == .pending else { return }
        let due = try TaskRows.due(of: child, at: transaction.now, transaction.connection)
        try Line.move(entry, by: .released(due: due), in: transaction)
    }

    private static let selectWaiting = Query(
        """
        SELECT dependency.child, pending.queue_id,
            pending.marks = \(Marks.task.rawValue) AND task.due_at IS NULL AND task.delay IS NULL
        FROM json_each(?1) AS wanted
        CROSS JOIN penstock_dependency AS dependency
            ON dependency.parent = wanted.value AND dependency.child > ?2 AND dependency.state <> 'met'
        LEFT JOIN penstock_log AS log ON log.sequence = dependency.child
        LEFT JOIN penstock_pending AS pending
            ON pending.queue_id = log.queue_id AND pending.sequence = log.sequence
        LEFT JOIN penstock_task AS task ON task.sequence = dependency.child
        LIMIT ?3
        """)
    private static let writeMet = Query(
        """
        UPDATE penstock_dependency SET state = 'met'
        WHERE parent IN (SELECT value FROM json_each(?1)) AND child BETWEEN ?2 AND ?3 AND state <> 'met'
        """)
    private static let selectBlocked = Query(
        """
        SELECT wanted.value FROM json_each(?1) AS wanted
        WHERE EXISTS (SELECT 1 FROM penstock_dependency AS dependency
            WHERE dependency.child = wanted.value AND dependency.state IN ('open', 'failed'))
        """)
    private static let insertReady = Query(
        """
        INSERT INTO penstock_ready (queue_id, priority, sequence, attempt, forgiven, marks)
        SELECT pending.queue_id, pending.priority, pending.sequence, pending.attempt, pending.forgiven, pending.marks
        FROM json_each(?2) AS wanted CROSS JOIN penstock_pending AS pending
            ON pending.queue_id = ?1 AND pending.sequence = wanted.value
        """)
    private static let deletePending = Query(
        "DELETE FROM penstock_pending WHERE queue_id = ?1 AND sequence IN (SELECT value FROM json_each(?2))")
}

/// Messages that one statement is about: bound as a JSON array, which a statement reads by `json_each`.
struct SequenceList {
    let sequences: [Int64]

    init(_ sequences: [Int64]) {
        self.sequences = sequences
    }

    var json: String {
        var text = "["
        for sequence in sequences {
            if text.utf8.count > 1 { text += "," }
            text += String(sequence)
        }
        return text + "]"
    }
}
