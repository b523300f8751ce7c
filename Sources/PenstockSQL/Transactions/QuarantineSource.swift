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
    /// The rows of queue ?1 in each of these tables. Leases have no index by queue, and are no more than what is in hands.
    private static let openRows = line.map { source in
        "\(source.table) WHERE \(source == .lease ? "sequence > 0 AND " : "")queue_id = ?1"
    }
    /// Whether messages of queue ?1 wait or run, as SQL.
    package static let hasOpen = openRows.map { "EXISTS (SELECT 1 FROM \($0))" }.joined(separator: " OR ")
    /// How many do, as SQL.
    static let openCount = openRows.map { "(SELECT count(*) FROM \($0))" }.joined(separator: " + ")

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
