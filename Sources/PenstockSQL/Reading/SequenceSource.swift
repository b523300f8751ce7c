import PenstockCore

/// Where the sequence numbers are found that may answer a query, each in one order by an index.
enum SequenceSource {
    /// The log of a queue; `nil`: of all.
    case log(queueID: Int64?)
    /// What was enqueued with a unique key, in whichever queue.
    case key(String)
    /// The rows of one state in a queue, other than `ready`; `nil`, for what is scheduled or leased: in all queues.
    case line(MessageState, queueID: Int64?)
    /// What has ended in a queue in one of these states, `done` or `cancelled` among them.
    case ended(Set<MessageState>, queueID: Int64)
    /// The ready rows of a queue with that priority; `nil`: those with turns.
    case ready(priority: Int64?, queueID: Int64)

    /// The sources of a query that names no sequence numbers: together they have every message that may answer it.
    ///
    /// - Parameter queues: the ids of the queues that it is about.
    static func all(of query: MessageQuery, _ queues: [Int64], _ connection: Connection) throws -> [SequenceSource] {
        if let key = query.matching.uniqueKey { return [.key(key)] }
        let areTogether = try query.queue == nil && !mixesTimes(query, connection)
        guard var states = query.states else {
            return areTogether ? [.log(queueID: nil)] : queues.map { .log(queueID: $0) }
        }
        var sources: [SequenceSource] = []
        if areTogether {
            // These lie by their numbers, whatever their queues: each queue's own source would go through all of them.
            for state in [MessageState.scheduled, .leased] where states.remove(state) != nil {
                sources.append(.line(state, queueID: nil))
            }
        }
        return try sources + queues.flatMap { try Self.sources(of: states, $0, connection) }
    }

    private static func sources(
        of states: Set<MessageState>, _ queueID: Int64, _ connection: Connection
    ) throws -> [SequenceSource] {
        var states = states
        var sources: [SequenceSource] = []
        if !states.isDisjoint(with: [.done, .cancelled]) {
            // No index finds these two. A source of one of them that has nothing, read beside others, would go to the queue's end
            // for every page.
            let ended = states.intersection(endStates)
            sources.append(.ended(ended, queueID: queueID))
            states.subtract(ended)
        }
        return try sources
            + MessageState.allCases.filter(states.contains).flatMap { state -> [SequenceSource] in
                guard state == .ready else { return [.line(state, queueID: queueID)] }
                // Ready rows lie by priority: the first of each are taken together, and those with turns apart.
                let priorities: [Int64?] = try priorities(of: queueID, connection)
                return (priorities + [nil]).map { .ready(priority: $0, queueID: queueID) }
            }
    }

    private static let endStates = MessageState.allCases.filter(\.isFinished)

    /// Whether a query asks for times by which the numbers of the whole log do not rise: queues that came from another store have brought
    /// old messages with new numbers. Those of each queue do.
    private static func mixesTimes(_ query: MessageQuery, _ connection: Connection) throws -> Bool {
        guard query.since != nil || query.before != nil else { return false }
        return try connection.has(anyArrival)
    }

    /// The first or last `limit` sequence numbers of a stretch, nearest its beginning or end first.
    func sequences(_ stretch: Stretch, _ end: MessageQuery.End, limit: Int, _ connection: Connection) throws -> [Int64]
    {
        var conditions: [String] = []
        var values: [Value] = []
        func bound(_ value: Value) -> String {
            values.append(value)
            return "?\(values.count)"
        }
        let direction = end == .first ? "ASC" : "DESC"
        var order = "line.sequence \(direction)"
        if case .log(let queueID?) = self, connection.isServer {
            // In an order that only the index of the queue's messages has. By the order of numbers alone the planner goes through the log, past
            // all messages of other queues.
            let queue = bound(.integer(queueID))
            conditions.append("(line.queue_id, line.sequence) > (\(queue), \(bound(.integer(stretch.after))))")
            conditions.append(
                "(line.queue_id, line.sequence) < (\(queue), \(bound(.integer(stretch.preceding ?? .max))))")
            order = "line.queue_id \(direction), \(order)"
        } else {
            if case .key(let key) = self {
                conditions.append("line.unique_key = \(bound(.text(key)))")
            } else if let queueID {
                conditions.append("line.queue_id = \(bound(.integer(queueID)))")
            }
            conditions.append("line.sequence > \(bound(.integer(stretch.after)))")
            if let preceding = stretch.preceding {
                conditions.append("line.sequence < \(bound(.integer(preceding)))")
            }
        }
        let (table, condition) = table
        if let condition { conditions.append(condition) }
        let statement = try connection.statement(
            sql: """
                SELECT line.sequence FROM \(table) WHERE \(conditions.joined(separator: " AND "))
                ORDER BY \(order) LIMIT \(bound(.integer(Int64(limit))))
                """)
        return try connection.all(statement, values) { $0.integer(0) }
    }

    /// The part of a stretch that holds what was accepted in the query's time. Of what has a key all is left in.
    func narrowed(_ stretch: Stretch, to query: MessageQuery, _ connection: Connection) throws -> Stretch {
        if case .key = self { return stretch }
        var stretch = stretch
        if let since = query.since {
            stretch.after = max(stretch.after, try lastBefore(since, connection))
        }
        if let before = query.before {
            let end = try lastBefore(before, connection) + 1
            stretch.preceding = min(stretch.preceding ?? end, end)
        }
        return stretch
    }

    private var queueID: Int64? {
        switch self {
        case .log(let queueID), .line(_, let queueID): queueID
        case .key: nil
        case .ended(_, let queueID), .ready(_, let queueID): queueID
        }
    }

    // Which index is said where SQLite, without statistics, would take the wrong one: all of a queue's scheduled
    // messages put in order for one page, or all its finished ones looked through for a few dead letters.
    private var table: (name: String, condition: String?) {
        switch self {
        case .log: ("penstock_log AS line", nil)
        case .key: ("penstock_log AS line INDEXED BY penstock_log_unique", nil)
        case .ready(let priority?, _):
            ("penstock_ready AS line", "line.priority = \(priority) AND line.turn = 0")
        case .ready(nil, _), .line(.ready, _):
            ("penstock_ready AS line INDEXED BY penstock_ready_sequence", "line.turn <> 0")
        case .line(.scheduled, _): ("penstock_scheduled AS line NOT INDEXED", nil)
        case .line(.pending, _): ("penstock_pending AS line", nil)
        case .line(.blocked, _): ("penstock_blocked AS line INDEXED BY penstock_blocked_sequence", nil)
        case .line(.leased, _): ("penstock_lease AS line", nil)
        case .line(.dead, _): ("penstock_outcome AS line INDEXED BY penstock_outcome_dead", "line.state = 'dead'")
        case .line(.dropped, _):
            ("penstock_outcome AS line INDEXED BY penstock_outcome_dropped", "line.state = 'dropped'")
        case .line(let state, _): Self.outcomes([state])
        case .ended(let states, _): Self.outcomes(states)
        }
    }

    /// The rows of messages that ended in these states, in the order of their numbers in a queue.
    private static func outcomes(_ states: Set<MessageState>) -> (name: String, condition: String?) {
        let wanted = endStates.filter(states.contains)
        let list = wanted.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return ("penstock_outcome AS line", wanted == endStates ? nil : "line.state IN (\(list))")
    }

    /// A message before which everything of the queue was accepted before `moment`; 0 when there is none.
    ///
    /// Halves the log, whose times rise with the sequence. Where a clock was set back, messages around the jump may
    /// be left out.
    private func lastBefore(_ moment: Timestamp, _ connection: Connection) throws -> Int64 {
        let last = try Self.log(queueID: queueID).sequences(Stretch(after: 0), .last, limit: 1, connection).first
        guard let last else { return 0 }
        let own = queueID.map { [Value.integer($0)] } ?? []
        let ofQueue = queueID == nil ? "" : "queue_id = ?1 AND"
        // On a server as above.
        let (first, order) =
            connection.isServer && queueID != nil
            ? ("(queue_id, sequence) >= (?1, ?2) AND queue_id <= ?1", "queue_id, sequence")
            : ("\(ofQueue) sequence >= ?\(own.count + 1)", "sequence")
        let probe = try connection.statement(
            sql: "SELECT sequence, enqueued_at FROM penstock_log WHERE \(first) ORDER BY \(order) LIMIT 1")
        // Everything up to `low` is before the moment; the first message from `high` on is not.
        var low: Int64 = 0
        var high = last == .max ? last : last + 1
        while low + 1 < high {
            let middle = low + (high - low) / 2
            let found = try connection.all(probe, own + [.integer(middle)]) { ($0.integer(0), $0.integer(1)) }
            guard let (sequence, enqueuedAt) = found.first else {
                high = middle
                continue
            }
            if enqueuedAt < moment.microseconds {
                low = sequence
            } else {
                high = middle
            }
        }
        return low
    }

    /// The priorities of a queue's ready messages.
    static func priorities(of queueID: Int64, _ connection: Connection) throws -> [Int64] {
        try connection.all(selectPriorities, .integer(queueID)) { $0.integer(0) }
    }

    private static let anyArrival = Query("SELECT 1 FROM penstock_arrival WHERE move_id > '' LIMIT 1")
    private static let selectPriorities = Query(
        """
        WITH RECURSIVE found (priority) AS (
            SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = ?1)
            UNION ALL
            SELECT (SELECT max(priority) FROM penstock_ready WHERE queue_id = ?1 AND priority < found.priority)
            FROM found WHERE found.priority IS NOT NULL
        )
        SELECT priority FROM found WHERE priority IS NOT NULL
        """)
}
