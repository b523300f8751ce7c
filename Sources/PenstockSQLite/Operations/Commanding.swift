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
        // Messages in line that the log does not have: to cancel one is to set it aside.
        var orphans: [Int64] = []
        var keys: Set<String> = []
        for sequence in Set(sequences).sorted() {
            guard let entry = try Line.locate(sequence.rawValue, in: transaction) else {
                if try Quarantine.isContradictory(sequence.rawValue, in: transaction) {
                    guard command == .cancel, try !Quarantine.isInLog(sequence.rawValue, in: transaction) else {
                        throw PenstockError(
                            .illegalTransition,
                            "Message \(sequence) has no place in the line, or none in the log; nothing was changed. Run "
                                + "`penstock doctor --repair`.")
                    }
                    orphans.append(sequence.rawValue)
                    continue
                }
                throw PenstockError(.unknownMessage, "There is no message \(sequence) in the log; nothing was changed.")
            }
            guard let outcome = try Line.outcome(of: command.event, on: entry, in: transaction) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) is \(entry.state.rawValue), and \(command.rawValue) is not for such; "
                        + "nothing was changed.")
            }
            if outcome.state.isWaiting { try entry.account.refuseDeleting() }
            guard try canHaveKey(entry, outcome, &keys, in: transaction) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) cannot be redriven while another one has its unique key; wait until that one "
                        + "has ended, or cancel it.")
            }
            moves.append((entry, outcome))
        }
        for (entry, outcome) in moves { try Line.move(entry, to: outcome, in: transaction) }
        for sequence in orphans { _ = try Quarantine.setAsideOrphans(sequence, in: transaction) }
        return moves.count + orphans.count
    }

    /// Carries out `command` on a queue's messages in `states` after `cursor`, oldest first, up to `limit` of them.
    ///
    /// - Returns: how many were moved, and the last one looked at, from which the next step goes on.
    static func step(
        _ command: LineCommand, on queue: QueueName, in states: Set<MessageState>, after cursor: Int64, limit: Int,
        _ transaction: Transaction
    ) throws -> (moved: Int, cursor: Int64) {
        let account = try transaction.account(of: queue)
        if command == .redrive { try account.refuseDeleting() }
        let states = states.intersection(command.states)
        let limit = min(limit, stepMax)
        let sequences = try states.flatMap { state in
            try StateSource(state).sequences(account.id, after: cursor, limit: limit, transaction.connection)
        }.sorted().prefix(limit)
        var moved = 0
        var keys: Set<String> = []
        for sequence in sequences {
            guard let entry = try Line.locate(sequence, in: transaction) else {
                if command == .cancel, try Quarantine.setAsideOrphans(sequence, in: transaction) { moved += 1 }
                continue
            }
            guard states.contains(entry.state),
                let outcome = try Line.outcome(of: command.event, on: entry, in: transaction),
                try canHaveKey(entry, outcome, &keys, in: transaction)
            else { continue }
            try Line.move(entry, to: outcome, in: transaction)
            moved += 1
        }
        return (moved, sequences.last ?? .max)
    }

    /// Whether a dead letter that goes back in line can have its unique key again: nobody holds it, and none of
    /// `keys`, which go back with it, is the same.
    private static func canHaveKey(
        _ entry: LineEntry, _ outcome: Lifecycle.Outcome, _ keys: inout Set<String>, in transaction: Transaction
    ) throws -> Bool {
        guard entry.state == .dead, outcome.state.isWaiting,
            let key = try UniqueKeys.key(of: entry.sequence, in: transaction)
        else { return true }
        let uniqueInQueue = "\(entry.account.id) \(key)"
        return try UniqueKeys.holder(of: key, entry.account, in: transaction) == nil
            && keys.insert(uniqueInQueue).inserted
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
    // By the index on due times every step would put all of the queue's scheduled messages in order first.
    private static let scheduled = Query(
        """
        SELECT sequence FROM penstock_scheduled NOT INDEXED WHERE queue_id = ?1 AND sequence > ?2
        ORDER BY sequence LIMIT ?3
        """)
    private static let leased = Query(
        "SELECT sequence FROM penstock_lease WHERE queue_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3")
    private static let dead = Query(
        """
        SELECT sequence FROM penstock_outcome INDEXED BY penstock_outcome_dead
        WHERE queue_id = ?1 AND sequence > ?2 AND state = 'dead' ORDER BY sequence LIMIT ?3
        """)
    private static let ended = Query(
        """
        SELECT sequence FROM penstock_outcome WHERE queue_id = ?1 AND sequence > ?2 AND state = ?4
        ORDER BY sequence LIMIT ?3
        """)
}
