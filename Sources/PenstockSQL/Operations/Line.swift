package import PenstockCore

/// Moves messages between the tables of the line.
///
/// Invariant: a message of the log has one row in exactly one of `penstock_pending`, `penstock_scheduled`, `penstock_blocked`,
/// `penstock_ready`, `penstock_lease` and `penstock_outcome`, and the queue's depths count these rows.
enum Line {
    /// Moves a message to where `outcome` says, with all that follows: depths, totals, its key, its group, the failed attempt.
    ///
    /// - Returns: where it went: one that is to be ready is blocked when its group has no permit for it, and waits when it is a task
    ///   that was dead before what it waits for had ended.
    @discardableResult
    static func move(
        _ entry: LineEntry, to outcome: Lifecycle.Outcome, in transaction: Transaction
    ) throws -> MessageState {
        let account = entry.account
        var outcome = outcome
        try remove(entry, in: transaction)
        account.change.count(entry.state, -1)
        if let failure = outcome.failure, let lease = entry.lease {
            try Attempts.record(failure, of: entry, lease, in: transaction)
        }
        var entry = entry
        if entry.state.isFinished { entry.marks = try marks(of: entry, goingTo: outcome.state, in: transaction) }
        let waitsAgain = try outcome.state == .ready && Cascade.waitsAgain(entry, in: transaction)
        if waitsAgain { outcome.state = .pending }
        if !entry.marks.isEmpty { try follow(&entry, outcome.state, in: transaction) }
        let freed = entry.marks.contains(.group) ? try Groups.pass(&entry, to: &outcome, in: transaction) : nil
        if account.hasTurns { try Turns.leave(entry, outcome, in: transaction) }
        try insert(entry, outcome, in: transaction)
        account.change.count(outcome.state, 1)
        if outcome.state.isFinished { account.change.countEnd(outcome.state) }
        if outcome.state.isWaiting {
            // Of a blocked one workers have to know when it expires.
            account.ring(messages: outcome.state == .blocked && !entry.marks.contains(.expiry) ? 0 : 1)
        } else if entry.state.isWaiting {
            account.ringForRoom()
        }
        if let freed { try Groups.permitNext(of: freed, in: transaction) }
        if waitsAgain { try Cascade.agree(entry.sequence, in: transaction) }
        return outcome.state
    }

    /// Lets `event` befall a message, and moves it to where that takes it.
    ///
    /// - Returns: whether its state knows the event. Nothing is changed otherwise.
    @discardableResult
    static func move(_ entry: LineEntry, by event: Lifecycle.Event, in transaction: Transaction) throws -> Bool {
        guard let outcome = try outcome(of: event, on: entry, in: transaction) else { return false }
        try move(entry, to: outcome, in: transaction)
        return true
    }

    /// What is to be seen to as a message that has ended comes back, or ends otherwise.
    private static func marks(
        of entry: LineEntry, goingTo state: MessageState, in transaction: Transaction
    ) throws -> Marks {
        if entry.isPlain { return [] }
        var marks: Marks = []
        if state.isWaiting {
            marks.formUnion(try UniqueKeys.holdAgain(entry.sequence, entry.account, in: transaction))
        }
        if try TaskRows.has(entry.sequence, transaction.connection) { marks.insert(.task) }
        if try Groups.key(of: entry.sequence, transaction.connection) != nil { marks.insert(.group) }
        return marks
    }

    /// Sees to what a message's marks say as it goes to `state`.
    private static func follow(_ entry: inout LineEntry, _ state: MessageState, in transaction: Transaction) throws {
        if state.isFinished, entry.marks.contains(.uniqueKey) {
            try UniqueKeys.release(entry.sequence, entry.account, in: transaction)
            entry.marks.remove(.uniqueKey)
        }
        if entry.state == .leased, state.isWaiting, entry.marks.contains(.keyWhileWaiting) {
            entry.marks.formUnion(try UniqueKeys.holdAgain(entry.sequence, entry.account, in: transaction))
        }
        if entry.marks.contains(.expiry) { try ExpiryRows.follow(entry, to: state, transaction.connection) }
        if state.isFinished, entry.marks.contains(.endAwaited) { entry.account.ring(messages: 0) }
        if entry.state == .leased, !entry.marks.isDisjoint(with: .ofLease) {
            try CancelRequests.end(entry.sequence, transaction.connection)
            try ProgressRows.end(entry.sequence, transaction.connection)
            entry.marks.subtract(.ofLease)
        }
        if entry.state == .scheduled {
            entry.marks.remove(.suspended)
            if entry.marks.remove(.awaitsEvent) != nil { try Awaiting.end(entry.sequence, transaction.connection) }
        }
        if entry.marks.contains(.task), state.isFinished || entry.state.isFinished {
            transaction.cascade.note(entry.sequence)
        }
    }

    /// Where `event` takes `entry`; `nil` when its state does not know the event.
    static func outcome(
        of event: Lifecycle.Event, on entry: LineEntry, in transaction: Transaction
    ) throws -> Lifecycle.Outcome? {
        let retry = entry.account.policy.retry
        let own =
            try event.countsAttempts
            ? transaction.connection.first(readAttemptsMax, .integer(entry.sequence)) { $0.optionalInteger(0) } : nil
        let situation = Lifecycle.Situation(
            state: entry.state, attempt: Int(entry.attempt), forgiven: Int(entry.forgiven),
            attemptsMax: (own ?? nil).map(Int.init) ?? retry.attemptsMax,
            isToBeCancelled: entry.marks.contains(.cancelRequested))
        return Lifecycle.outcome(
            of: event, on: situation, now: transaction.now, policy: retry, random: transaction.random.nextUnit())
    }

    /// Takes a message out of the table it is in. Counts nothing.
    static func remove(_ entry: LineEntry, in transaction: Transaction) throws {
        let connection = transaction.connection
        switch entry.state {
        case .leased:
            try connection.run(deleteLease) { $0.bind(entry.sequence, at: 1) }
        case .ready:
            try connection.run(
                deleteReady, .integer(entry.account.id), .integer(entry.priority), .integer(entry.sequence),
                .integer(try Turns.turn(of: entry.sequence, entry.account, connection)))
        case .scheduled:
            try connection.run(deleteScheduled, .integer(entry.sequence))
        case .blocked:
            try connection.run(deleteBlocked, .integer(entry.account.id), .integer(entry.sequence))
        case .pending:
            try connection.run(deletePending, .integer(entry.account.id), .integer(entry.sequence))
        case .done, .dead, .dropped, .cancelled:
            try connection.run(deleteOutcome, .integer(entry.account.id), .integer(entry.sequence))
        }
    }

    /// Puts a message into the table that `outcome` says. Counts nothing.
    ///
    /// - Parameter isNew: whether it was accepted now, and so is ready since then if it is.
    static func insert(
        _ entry: LineEntry, _ outcome: Lifecycle.Outcome, isNew: Bool = false, in transaction: Transaction
    ) throws {
        func bindPlace(_ row: PreparedStatement) {
            row.bind(entry.account.id, at: 1)
            row.bind(entry.priority, at: 2)
            row.bind(entry.sequence, at: 3)
            row.bind(Int64(outcome.attempt), at: 4)
            row.bind(Int64(outcome.forgiven), at: 5)
            row.bind(entry.marks.rawValue, at: 6)
        }
        switch outcome.state {
        case .ready:
            let turn = try entry.account.hasTurns ? Turns.enter(entry, outcome, in: transaction) : 0
            entry.account.change.lineStart.entered(
                at: LinePlace(priority: entry.priority, turn: turn, sequence: entry.sequence))
            try fill(.ready, entry.sequence, entry.account, in: transaction) { connection in
                try connection.run(insertReady) { row in
                    bindPlace(row)
                    row.bind(turn, at: 7)
                    // What has become due is ready since then, however late a claim finds it.
                    if !isNew { row.bind((outcome.due ?? transaction.now).microseconds, at: 8) }
                }
            }
        case .pending:
            try fill(.pending, entry.sequence, entry.account, in: transaction) {
                try $0.run(insertPending, bind: bindPlace)
            }
        case .blocked:
            try fill(.blocked, entry.sequence, entry.account, in: transaction) { connection in
                try connection.run(
                    insertBlocked, .integer(entry.sequence), .integer(Int64(outcome.attempt)),
                    .integer(Int64(outcome.forgiven)), .integer(entry.marks.rawValue))
            }
        case .scheduled:
            try fill(.scheduled, entry.sequence, entry.account, in: transaction) { connection in
                try connection.run(
                    insertScheduled, .integer(entry.sequence), .integer(entry.account.id),
                    .integer((outcome.due ?? transaction.now).microseconds), .integer(entry.priority),
                    .integer(Int64(outcome.attempt)), .integer(Int64(outcome.forgiven)),
                    .integer(entry.marks.rawValue))
            }
        case .done, .dead, .dropped, .cancelled:
            try record(
                entry.sequence, entry.account, outcome.state, outcome.reason, attempt: Int64(outcome.attempt),
                in: transaction)
        case .leased:
            preconditionFailure("Only a claim leases messages.")
        }
    }

    /// Writes a message's end. Counts nothing.
    static func record(
        _ sequence: Int64, _ account: QueueAccount, _ state: MessageState, _ reason: StateReason?, attempt: Int64,
        in transaction: Transaction
    ) throws {
        try fill(.outcome, sequence, account, in: transaction) { connection in
            try connection.run(insertOutcome) { row in
                row.bind(account.id, at: 1)
                row.bind(sequence, at: 2)
                row.bind(state.rawValue, at: 3)
                row.bind(Value(reason?.rawValue), at: 4)
                row.bind(attempt, at: 5)
                row.bind(transaction.now.microseconds, at: 6)
            }
        }
    }

    /// Gives message `sequence` its row in a table. A row of the same message that is there already contradicts the one
    /// that the message comes from, and is set aside.
    @inline(__always)
    private static func fill(
        _ table: QuarantineSource, _ sequence: Int64, _ account: QueueAccount, in transaction: Transaction,
        _ write: (Connection) throws -> Void
    ) throws {
        do {
            try transaction.connection.attempt { try write(transaction.connection) }
        } catch  where error.isContradiction {
            // A scheduled row is found by its message alone, and may name another queue.
            let queueID =
                table == .scheduled
                ? try transaction.connection.integer(readScheduledQueue, .integer(sequence))
                : nil
            try Quarantine.setAside(
                table, sequence, of: queueID ?? account.id, because: Quarantine.Reason.inTheWay, in: transaction)
            account.mustRecount()
            try write(transaction.connection)
        }
    }

    private static let readAttemptsMax = Query("SELECT attempts_max FROM penstock_log WHERE sequence = ?1")
    private static let readScheduledQueue = Query("SELECT queue_id FROM penstock_scheduled WHERE sequence = ?1")
    private static let deleteLease = Query("DELETE FROM penstock_lease WHERE sequence = ?1")
    private static let deleteReady = Query(
        "DELETE FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND turn = ?4 AND sequence = ?3")
    private static let deleteScheduled = Query("DELETE FROM penstock_scheduled WHERE sequence = ?1")
    private static let deletePending = Query("DELETE FROM penstock_pending WHERE queue_id = ?1 AND sequence = ?2")
    private static let deleteBlocked = Query("DELETE FROM penstock_blocked WHERE queue_id = ?1 AND sequence = ?2")
    private static let deleteOutcome = Query("DELETE FROM penstock_outcome WHERE queue_id = ?1 AND sequence = ?2")
    private static let insertReady = Query(
        """
        INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
        VALUES (?1, ?2, ?7, ?3, ?4, ?5, ?6, ?8)
        """)
    private static let insertScheduled = Query(
        """
        INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """)
    private static let insertPending = Query(
        """
        INSERT INTO penstock_pending (queue_id, priority, sequence, attempt, forgiven, marks)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """)
    // The log knows the group.
    private static let insertBlocked = Query(
        """
        INSERT INTO penstock_blocked (queue_id, group_key, priority, sequence, attempt, forgiven, marks)
        SELECT queue_id, group_key, priority, sequence, ?2, ?3, ?4 FROM penstock_log
        WHERE sequence = ?1 AND group_key IS NOT NULL
        """)
    private static let insertOutcome = Query(
        """
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """)
}

/// Where a message is, with everything that moves along with it.
package struct LineEntry {
    package var sequence: Int64
    package var account: QueueAccount
    package var state: MessageState
    package var priority: Int64
    package var attempt: Int64
    package var forgiven: Int64
    /// What is to be seen to when it moves. Of one that has ended they are found anew when it comes back.
    package var marks: Marks
    /// Why it has ended, where the state alone does not say.
    package var reason: StateReason?
    /// Whether it has ended, and is known to have no key, no group and no workflow, so that no mark is to be found when it comes back.
    var isPlain = false
    /// Set while it is leased.
    package var lease: HeldLease?

    /// Whether it waits for other messages, or was cancelled as it waited in vain: a redrive of those brings it back.
    package var waitsForOthers: Bool { state == .pending || state == .cancelled && reason == .parentFailed }

    /// That it goes to `state`, and no attempt is counted.
    func outcome(_ state: MessageState, due: Timestamp? = nil) -> Lifecycle.Outcome {
        Lifecycle.Outcome(state: state, due: due, attempt: Int(attempt), forgiven: Int(forgiven))
    }

    package struct HeldLease {
        var token: Int64
        var workerID: Int64
        var claimedAt: Int64
    }
}
