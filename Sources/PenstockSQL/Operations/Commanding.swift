import PenstockCore

/// Moving messages by hand.
enum Commanding {
    /// Messages moved in one transaction at most.
    static let stepMax = 1000

    /// What a step has come to.
    struct Step: Sendable {
        /// How many messages were moved.
        var moved: Int
        /// How many were gone through, those that come first. The others are left as the transaction has lasted long, or may have no more
        /// bytes written anew.
        var passed: Int
    }

    /// Carries out `command` on these messages, all of them or none.
    static func perform(
        _ command: LineCommand, on sequences: [SequenceNumber], in transaction: Transaction
    ) throws -> Int {
        // Everything is looked at before the first write, so that an error leaves nothing half done.
        var moves: [(LineEntry, Lifecycle.Outcome)] = []
        var asked: [LineEntry] = []
        // Messages in line that the log does not have: to cancel one is to set it aside.
        var orphans: [Int64] = []
        var keys: Set<[UInt8]> = []
        for sequence in Set(sequences).sorted() {
            guard let entry = try Line.locate(sequence.rawValue, in: transaction) else {
                try requireOrphan(sequence, command, in: transaction)
                orphans.append(sequence.rawValue)
                continue
            }
            try entry.account.refuseArriving(in: transaction)
            if command.time != nil, entry.state == .leased {
                asked.append(entry)
                continue
            }
            guard let outcome = try Line.outcome(of: command.event, on: entry, in: transaction) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) is \(entry.state.rawValue), and only \(command.what); nothing was changed.")
            }
            if outcome.state.isWaiting { try entry.account.refuseDeleting(in: transaction) }
            guard try canHaveKey(entry, outcome, &keys, in: transaction) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) cannot be redriven while another one has its unique key; wait until that one "
                        + "has ended, or cancel it.")
            }
            moves.append((entry, outcome))
        }
        let askedCount = try ask(asked, command, in: transaction)
        try carryOut(command, moves, in: transaction)
        for sequence in orphans { _ = try Quarantine.setAsideOrphans(sequence, in: transaction) }
        return askedCount + moves.count + orphans.count
    }

    /// Throws unless a message that cannot be located is in line and not in the log, and the command is to cancel it.
    private static func requireOrphan(
        _ sequence: SequenceNumber, _ command: LineCommand, in transaction: Transaction
    ) throws {
        guard try Quarantine.isContradictory(sequence.rawValue, in: transaction) else {
            throw PenstockError(.unknownMessage, "There is no message \(sequence) in the log; nothing was changed.")
        }
        guard command.isCancel, try !Quarantine.isInLog(sequence.rawValue, transaction.connection) else {
            throw PenstockError(
                .illegalTransition,
                "Message \(sequence) has no place in the line, or none in the log; nothing was changed. Run "
                    + "`penstock doctor --repair`.")
        }
    }

    /// Carries out `command` on messages of a queue that were found, up to `limit` of them. Those that are in none of `states` any
    /// more are passed over.
    ///
    /// - Parameter sequences: the messages, ``stepMax`` of them at most, in the order of sequence.
    static func step(
        _ command: LineCommand, on queue: QueueName, in states: Set<MessageState>, _ sequences: [Int64], limit: Int,
        _ transaction: Transaction
    ) throws -> Step {
        let account = try transaction.account(of: queue)
        try account.refuseArriving(in: transaction)
        if command == .redrive { try account.refuseDeleting(in: transaction) }
        let states = states.intersection(command.states)
        var moved = 0
        var moves: [(LineEntry, Lifecycle.Outcome)] = []
        var keys: Set<[UInt8]> = []
        var looked = sequences.count
        let entries = try Line.locate(sequences, of: account, in: transaction)
        for (index, sequence) in sequences.enumerated() {
            if moved + moves.count >= limit { break }
            // To move what was looked at takes more than the looks.
            if index > 0, transaction.timeUsed > 0.4 {
                looked = index
                break
            }
            guard let entry = try entries[sequence] ?? Line.locate(sequence, in: transaction) else {
                if command.isCancel, try Quarantine.setAsideOrphans(sequence, in: transaction) { moved += 1 }
                continue
            }
            guard states.contains(entry.state) else { continue }
            if command.time != nil, entry.state == .leased {
                // Asked here, as one that was asked before counts for nothing: a step that stops has asked some that the next one finds again.
                moved += try ask([entry], command, in: transaction)
                continue
            }
            guard let outcome = try Line.outcome(of: command.event, on: entry, in: transaction),
                try canHaveKey(entry, outcome, &keys, in: transaction)
            else { continue }
            moves.append((entry, outcome))
        }
        let count = try carryOut(command, moves, mayStop: true, in: transaction)
        let left = moves.dropFirst(count).first?.0.sequence
        return Step(moved: moved + count, passed: sequences.firstIndex { $0 == left } ?? looked)
    }

    /// Asks the workers that have these messages to end.
    ///
    /// - Returns: how many were not asked before.
    private static func ask(
        _ entries: [LineEntry], _ command: LineCommand, in transaction: Transaction
    ) throws -> Int {
        guard let time = command.time else { return 0 }
        return try entries.reduce(0) { count, entry in
            try CancelRequests.make(entry, within: time, in: transaction) ? count + 1 : count
        }
    }

    /// Moves messages, one after the other. What follows from the end of a task comes before the next one, which may be among
    /// what is cancelled because of it; as it was to be moved, it is looked at again.
    ///
    /// - Parameter mayStop: whether it ends behind a message with which it has used up the transaction's time, or the bytes that it may have
    ///   written anew.
    /// - Returns: how many were moved, those that come first.
    @discardableResult
    private static func carryOut(
        _ command: LineCommand, _ moves: [(LineEntry, Lifecycle.Outcome)], mayStop: Bool = false,
        in transaction: Transaction
    ) throws -> Int {
        // What becomes of one message of a group moves others of it.
        var areStale = moves.contains { $0.0.account.policy.groups != nil || $0.0.marks.contains(.group) }
        let bytesBefore = transaction.bytesLeft
        for (index, (entry, outcome)) in moves.enumerated() {
            if mayStop, index > 0, transaction.isUsedUp(since: bytesBefore) || transaction.isOverdue { return index }
            // The worker learns at once that it has lost the message.
            if entry.state == .leased { transaction.ringAll(entry.account.name) }
            if !areStale {
                try Line.move(entry, to: outcome, in: transaction)
            } else if let entry = try Line.locate(entry.sequence, in: transaction),
                let outcome = try Line.outcome(of: command.event, on: entry, in: transaction)
            {
                try Line.move(entry, to: outcome, in: transaction)
            }
            if !transaction.cascade.isEmpty {
                areStale = true
                try Cascade.perform(in: transaction)
            }
        }
        return moves.count
    }

    /// Whether a dead letter that goes back in line can do so with its unique key: nobody holds it, and none of `keys`, which go
    /// back with it, is the same. One that holds its key only while it waits goes without where it must.
    private static func canHaveKey(
        _ entry: LineEntry, _ outcome: Lifecycle.Outcome, _ keys: inout Set<[UInt8]>, in transaction: Transaction
    ) throws -> Bool {
        guard entry.state == .dead, outcome.state.isWaiting, !entry.isPlain,
            let (key, scope) = try UniqueKeys.key(of: entry.sequence, in: transaction)
        else { return true }
        if case .period = scope { return true }
        // By its bytes, as in the table: Swift takes two ways to write an accent for one text.
        let uniqueInQueue = Array("\(entry.account.id) \(key)".utf8)
        let isFree =
            try UniqueKeys.standing(of: key, entry.account, in: transaction).holder == nil
            && keys.insert(uniqueInQueue).inserted
        return isFree || scope == .whileWaiting
    }
}

extension LineCommand {
    /// Whether it takes messages out of the line for good.
    fileprivate var isCancel: Bool { if case .cancelled = event { true } else { false } }

    /// What can be done to which messages, for people.
    fileprivate var what: String {
        switch self {
        case .cancel, .requestCancel: "pending, scheduled, blocked, ready and leased messages can be cancelled"
        case .redrive: "dead and scheduled messages can be put back in line"
        case .discard: "dead messages can be discarded"
        }
    }
}
