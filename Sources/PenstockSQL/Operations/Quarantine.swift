import PenstockCore

/// The tables whose rows can be set aside, and how a row of each is kept.
package enum QuarantineSource: String, CaseIterable {
    case pending
    case blocked
    case scheduled
    case ready
    case lease
    case outcome
    case unique
    case uniquePeriod = "unique_period"
    case cursor
    case log

    /// The tables of the line. What has ended lies in `penstock_outcome`.
    package static let line: [QuarantineSource] = [.ready, .scheduled, .pending, .blocked, .lease]

    /// The table's name.
    package var table: String { "penstock_\(rawValue)" }

    /// Moves rows into `penstock_quarantine`: this first, and then ``delete(where:)`` with the same condition.
    ///
    /// - Parameters:
    ///   - now: the moment, as SQL.
    ///   - reason: the reason, as SQL.
    ///   - withPayload: whether a payload is kept, as it must be unless the row stays.
    package func copy(where condition: String, now: String, reason: String, withPayload: Bool = true) -> String {
        let json = columns.map { "'\($0)', \($0)" }.joined(separator: ", ")
        return """
            INSERT INTO penstock_quarantine (set_aside_at, reason, source, sequence, queue_id, columns, payload)
            SELECT \(now), \(reason), '\(table)', sequence, queue_id, json_object(\(json)),
                \(self == .log && withPayload ? "payload" : "NULL")
            FROM \(table) AS line WHERE \(condition)
            """
    }

    /// Deletes the rows that `condition` chooses; in it the table is called `line`.
    package func delete(where condition: String) -> String {
        "DELETE FROM \(table) AS line WHERE \(condition)"
    }

    private var columns: [String] {
        switch self {
        case .pending: ["sequence", "queue_id", "priority", "attempt", "forgiven", "marks"]
        case .blocked: ["sequence", "queue_id", "group_key", "priority", "attempt", "forgiven", "marks"]
        case .scheduled: ["sequence", "queue_id", "due_at", "priority", "attempt", "forgiven", "marks"]
        case .ready: ["sequence", "queue_id", "priority", "turn", "attempt", "forgiven", "marks", "ready_since"]
        case .lease:
            [
                "sequence", "queue_id", "token", "worker_id", "claimed_at", "deadline", "priority", "attempt",
                "forgiven", "marks",
            ]
        case .outcome: ["sequence", "queue_id", "state", "reason", "attempt", "finished_at"]
        case .unique: ["sequence", "queue_id", "unique_key", "since"]
        case .uniquePeriod: ["sequence", "queue_id", "unique_key", "until", "since"]
        case .cursor: ["sequence", "queue_id", "name", "missed", "note", "moved_at"]
        case .log:
            [
                "sequence", "queue_id", "enqueued_at", "priority", "attempts_max", "unique_key", "group_key", "headers",
                "origin", "turn", "expires_at", "key_scope",
            ]
        }
    }
}

/// Setting rows aside that contradict the rest of the file, within the transaction that met them: each costs its own
/// message, and the queue goes on.
package enum Quarantine {
    /// Sets aside the row of message `sequence` in one table of the line. The queue's depths are counted anew.
    ///
    /// - Parameter queueID: the queue that the row names, which need not exist.
    package static func setAside(
        _ source: QuarantineSource, _ sequence: Int64, of queueID: Int64, because reason: String,
        in transaction: Transaction
    ) throws {
        for (table, copy, delete) in statements where table == source {
            try transaction.connection.run(
                copy, .integer(sequence), .integer(queueID), .integer(transaction.now.microseconds), .text(reason))
            try transaction.connection.run(delete, .integer(sequence), .integer(queueID))
        }
        // What comes of it is left to the next claim, as the log may not have the message any more.
        try transaction.connection.run(noteGroup, .integer(sequence), .integer(queueID))
        let isNoted = try transaction.connection.changesCount() > 0
        if source == .lease {
            try CancelRequests.end(sequence, transaction.connection)
            try ProgressRows.end(sequence, transaction.connection)
        }
        let account = try transaction.account(id: queueID)
        account?.mustRecount()
        if isNoted { account?.ring(messages: 1) }
    }

    /// Sets aside every row of message `sequence` that is in line while the log does not have the message.
    ///
    /// Ready rows and outcomes lie by queue, and so this looks through all of them. It is for messages that nobody finds.
    ///
    /// - Returns: whether there was one.
    package static func setAsideOrphans(_ sequence: Int64, in transaction: Transaction) throws -> Bool {
        let found = try orphans(sequence, in: transaction)
        for (source, queueID) in found {
            try setAside(source, sequence, of: queueID, because: Reason.notInLog, in: transaction)
        }
        return !found.isEmpty
    }

    /// Whether message `sequence`, which has no place in the line as the log sees it, is in the log or in line all the same.
    package static func isContradictory(_ sequence: Int64, in transaction: Transaction) throws -> Bool {
        try isInLog(sequence, in: transaction) || !orphans(sequence, in: transaction).isEmpty
    }

    /// Whether the log has message `sequence`.
    package static func isInLog(_ sequence: Int64, in transaction: Transaction) throws -> Bool {
        try transaction.connection.first(inLog, .integer(sequence), read: { _ in true }) ?? false
    }

    private static func orphans(
        _ sequence: Int64, in transaction: Transaction
    ) throws -> [(QuarantineSource, queueID: Int64)] {
        if try isInLog(sequence, in: transaction) { return [] }
        return try transaction.connection.all(selectOrphans, .integer(sequence)) { row in
            (row.text(0).flatMap(QuarantineSource.init) ?? .ready, row.integer(1))
        }
    }

    /// Why a row was set aside, for people.
    package enum Reason {
        package static let headers = "The headers are not a JSON object of strings."
        package static let headerRules = "The headers break the rules for their names, zero bytes or size."
        package static let time = "The time is one that no clock can have shown."
        package static let notInLog =
            "The message is in line and not in the log, or there with another queue, priority or turn."
        package static let attempt = "The number of attempts is one that no program can have counted."
        package static let sequence = "The sequence number is one that no program can have given."
        package static let leased = "The message is ready, and a worker has it."
        package static let noQueue = "The queue does not exist."
        package static let inTheWay = "The message had come to another place, and moved to this one."
    }

    /// For each table what copies a row, and what deletes it.
    private static let statements = QuarantineSource.allCases.map { source in
        let condition = "sequence = ?1 AND queue_id = ?2"
        return (
            table: source, copy: Query(source.copy(where: condition, now: "?3", reason: "?4")),
            delete: Query(source.delete(where: condition))
        )
    }
    private static let noteGroup = Query(
        """
        INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE sequence = ?1 AND queue_id = ?2
        """)
    private static let inLog = Query("SELECT 1 FROM penstock_log WHERE sequence = ?1")
    private static let selectOrphans = Query(
        """
        SELECT 'ready', queue_id FROM penstock_ready WHERE sequence = ?1
        UNION ALL SELECT 'scheduled', queue_id FROM penstock_scheduled WHERE sequence = ?1
        UNION ALL SELECT 'pending', queue_id FROM penstock_pending WHERE sequence = ?1
        UNION ALL SELECT 'blocked', queue_id FROM penstock_blocked WHERE sequence = ?1
        UNION ALL SELECT 'lease', queue_id FROM penstock_lease WHERE sequence = ?1
        UNION ALL SELECT 'outcome', queue_id FROM penstock_outcome WHERE sequence = ?1
        """)
}
