import GRDB
import PenstockCore

/// Where the sequence numbers are found that may answer a query, or that a command is for: the log itself, or the rows of one state.
enum SequenceSource {
    case log
    case state(MessageState)

    /// The first or last `limit` sequence numbers of a queue that satisfy the query's cursor and times.
    func sequences(_ queueID: Int64, _ query: MessageQuery, limit: Int, _ database: Database) throws -> [Int64] {
        var after = query.after?.rawValue ?? 0
        if let since = query.since {
            after = max(after, try Self.lastBefore(since, queueID, database))
        }
        if case .state(.ready) = self {
            var found: [Int64] = []
            // Ready rows lie by priority: the first of each are taken together, and those with turns apart.
            let priorities = try Int64.fetchAll(database, sql: Self.prioritiesSQL, arguments: [queueID])
            for priority in priorities {
                found += try fetch(
                    "penstock_ready AS line", "line.priority = \(priority) AND line.turn = 0", queueID, query, after,
                    limit, database)
            }
            return try found
                + fetch(
                    "penstock_ready AS line INDEXED BY penstock_ready_sequence", "line.turn <> 0", queueID, query,
                    after,
                    limit, database)
        }
        let (table, condition) = table
        return try fetch(table, condition, queueID, query, after, limit, database)
    }

    // Which index is said where SQLite, without statistics, would take the wrong one: all of a queue's scheduled
    // messages put in order for one page, or all its finished ones looked through for a few dead letters.
    private var table: (name: String, condition: String) {
        switch self {
        case .log: ("penstock_log AS line", "1")
        case .state(.ready): ("penstock_ready AS line", "1")
        case .state(.scheduled): ("penstock_scheduled AS line NOT INDEXED", "1")
        case .state(.pending): ("penstock_pending AS line", "1")
        case .state(.blocked): ("penstock_blocked AS line INDEXED BY penstock_blocked_sequence", "1")
        case .state(.leased): ("penstock_lease AS line", "1")
        case .state(.done): ("penstock_outcome AS line", "line.state = 'done'")
        case .state(.dead): ("penstock_outcome AS line INDEXED BY penstock_outcome_dead", "line.state = 'dead'")
        case .state(.dropped):
            ("penstock_outcome AS line INDEXED BY penstock_outcome_dropped", "line.state = 'dropped'")
        case .state(.cancelled): ("penstock_outcome AS line", "line.state = 'cancelled'")
        }
    }

    private func fetch(
        _ table: String, _ condition: String, _ queueID: Int64, _ query: MessageQuery, _ after: Int64, _ limit: Int,
        _ database: Database
    ) throws -> [Int64] {
        var filters = ""
        var arguments: StatementArguments = [queueID, after]
        if let group = query.group {
            filters = """
                AND EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence AND log.group_key = ?)
                """
            arguments += [group]
        }
        if query.since != nil || query.before != nil {
            filters += """
                 AND EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence
                    AND log.enqueued_at >= ? AND log.enqueued_at < ?)
                """
            arguments += [query.since?.microseconds ?? .min, query.before?.microseconds ?? .max]
        }
        arguments += [limit]
        let statement = try database.cachedStatement(
            sql: """
                SELECT line.sequence FROM \(table)
                WHERE line.queue_id = ? AND line.sequence > ? AND \(condition) \(filters)
                ORDER BY line.sequence \(query.end == .first ? "ASC" : "DESC") LIMIT ?
                """)
        return try Int64.fetchAll(statement, arguments: arguments)
    }

    /// A message before which everything of the queue was accepted before `moment`; 0 when there is none.
    ///
    /// Halves the log, whose times rise with the sequence. Where a clock was set back, messages around the jump may
    /// be left out.
    private static func lastBefore(_ moment: Timestamp, _ queueID: Int64, _ database: Database) throws -> Int64 {
        let last = try Int64.fetchOne(
            database, sql: "SELECT max(sequence) FROM penstock_log WHERE queue_id = ?", arguments: [queueID])
        guard let last, last > 0 else { return 0 }
        let probe = try database.cachedStatement(
            sql: """
                SELECT sequence, enqueued_at FROM penstock_log WHERE queue_id = ? AND sequence >= ?
                ORDER BY sequence LIMIT 1
                """)
        // Everything up to `low` is before the moment; the first message from `high` on is not.
        var low: Int64 = 0
        var high = last == .max ? last : last + 1
        while low + 1 < high {
            let middle = low + (high - low) / 2
            guard let row = try Row.fetchOne(probe, arguments: [queueID, middle]) else {
                high = middle
                continue
            }
            if (row["enqueued_at"] as Int64) < moment.microseconds {
                low = row["sequence"]
            } else {
                high = middle
            }
        }
        return low
    }

    private static let prioritiesSQL = """
        WITH RECURSIVE found (priority) AS (
            SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = ?1)
            UNION ALL
            SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = ?1 AND priority < found.priority)
            FROM found WHERE found.priority IS NOT NULL
        )
        SELECT priority FROM found WHERE priority IS NOT NULL
        """
}
