import PenstockCore

/// Moving messages by hand.
enum Commanding {
    /// Messages moved in one transaction at most.
    static let stepMax = 1000

    /// Carries out `command` on these messages, all of them or none.
    static func perform(
        _ command: LineCommand, on sequences: [SequenceNumber], in transaction: Transaction
    ) throws -> Int {
        // Everything is looked at before the first write, so that an error leaves nothing half done.
        var moves: [(LineEntry, Lifecycle.Outcome)] = []
        for sequence in Set(sequences).sorted() {
            guard let entry = try Line.locate(sequence.rawValue, in: transaction) else {
                throw PenstockError(.unknownMessage, "There is no message \(sequence) in the log; nothing was changed.")
            }
            guard let outcome = try Line.outcome(of: command.event, on: entry, in: transaction) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) is \(entry.state.rawValue), and \(command.rawValue) is not for such; "
                        + "nothing was changed.")
            }
            moves.append((entry, outcome))
        }
        for (entry, outcome) in moves { try Line.move(entry, to: outcome, in: transaction) }
        return moves.count
    }

    /// Carries out `command` on a queue's messages in `state` after `cursor`, up to `limit` of them.
    ///
    /// - Returns: how many were moved, and the last one, from which the next step goes on.
    static func step(
        _ command: LineCommand, on queue: QueueName, in state: MessageState, after cursor: Int64, limit: Int,
        _ transaction: Transaction
    ) throws -> (moved: Int, cursor: Int64) {
        let account = try transaction.account(of: queue)
        let sequences = try StateSource(state).sequences(
            account.id, after: cursor, limit: min(limit, stepMax), transaction.connection)
        var moved = 0
        for sequence in sequences {
            guard let entry = try Line.locate(sequence, in: transaction), entry.state == state,
                let outcome = try Line.outcome(of: command.event, on: entry, in: transaction)
            else { continue }
            try Line.move(entry, to: outcome, in: transaction)
            moved += 1
        }
        return (moved, sequences.last ?? .max)
    }
}

/// Where the messages of one state are found, in the order of sequence.
struct StateSource {
    private let state: MessageState

    init(_ state: MessageState) {
        self.state = state
    }

    /// The first `limit` messages of a queue in this state after `cursor`.
    func sequences(_ queueID: Int64, after cursor: Int64, limit: Int, _ connection: Connection) throws -> [Int64] {
        switch state {
        case .ready:
            return try readySequences(queueID, after: cursor, limit: limit, connection)
        case .scheduled:
            return try connection.all(
                Self.scheduled, .integer(queueID), .integer(cursor), .integer(Int64(limit)), read: { $0.integer(0) })
        case .leased:
            return try connection.all(
                Self.leased, .integer(queueID), .integer(cursor), .integer(Int64(limit)), read: { $0.integer(0) })
        case .dead:
            return try connection.all(
                Self.dead, .integer(queueID), .integer(cursor), .integer(Int64(limit)), read: { $0.integer(0) })
        case .done, .dropped, .cancelled:
            return try connection.all(
                Self.ended, .integer(queueID), .integer(cursor), .integer(Int64(limit)), .text(state.rawValue),
                read: { $0.integer(0) })
        }
    }

    /// Ready messages lie by priority, so the first of each priority are taken and put in order.
    private func readySequences(
        _ queueID: Int64, after cursor: Int64, limit: Int, _ connection: Connection
    ) throws -> [Int64] {
        var found: [Int64] = []
        var above = Int64(Limits.priorityRange.upperBound) + 1
        while let priority = try connection.first(
            Self.nextPriority, .integer(queueID), .integer(above), read: { $0.integer(0) })
        {
            found += try connection.all(
                Self.ready, .integer(queueID), .integer(priority), .integer(cursor), .integer(Int64(limit)),
                read: { $0.integer(0) })
            above = priority
        }
        return Array(found.sorted().prefix(limit))
    }

    private static let nextPriority = Query(
        """
        SELECT priority FROM penstock_ready WHERE queue_id = ?1 AND priority < ?2 ORDER BY priority DESC LIMIT 1
        """)
    private static let ready = Query(
        """
        SELECT sequence FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND sequence > ?3
        ORDER BY sequence LIMIT ?4
        """)
    private static let scheduled = Query(
        "SELECT sequence FROM penstock_scheduled WHERE queue_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3")
    private static let leased = Query(
        "SELECT sequence FROM penstock_lease WHERE queue_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3")
    private static let dead = Query(
        """
        SELECT sequence FROM penstock_outcome WHERE queue_id = ?1 AND sequence > ?2 AND state = 'dead'
        ORDER BY sequence LIMIT ?3
        """)
    private static let ended = Query(
        """
        SELECT sequence FROM penstock_outcome WHERE queue_id = ?1 AND sequence > ?2 AND state = ?4
        ORDER BY sequence LIMIT ?3
        """)
}
