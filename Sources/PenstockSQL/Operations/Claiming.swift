import PenstockCore

/// Leasing ready messages to a worker.
enum Claiming {
    static func earlier(_ first: Timestamp?, _ second: Timestamp?) -> Timestamp? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }

    /// Says what a claim is about to read where nothing special is in its way.
    static func prefetch(
        _ request: ClaimRequest, worker: WorkerIdentity, _ connection: Connection, _ policies: PolicyCache
    ) throws {
        guard let id = policies.unlimitedQueue(request.queue) else { return }
        try Cascade.prefetch(connection)
        try ExpiryRows.prefetchFirst(of: id, connection)
        try connection.prefetch(readFirstDue, .integer(id), .integer(policies.dueStart(of: id)))
        try prefetchReady(of: id, limit: request.limit, trusting: policies.trustsLineStart(of: id), connection)
        if request.remoteWorker == nil { try worker.prefetch(connection) }
    }

    /// Carries out one claim, of no more than `limit` messages.
    static func perform(
        _ request: ClaimRequest, limit: Int, worker: WorkerIdentity, in transaction: Transaction
    ) throws -> Claim {
        let account = try transaction.account(of: request.queue)
        let remote = try request.remoteWorker.flatMap { try RemoteWorkers.renew($0, in: transaction) }
        try Cascade.goOn(in: transaction)
        let isLimited = account.policy.limitsClaims
        if account.isPaused || account.isDeleting { return .empty(isLimited: isLimited) }
        guard try Groups.settle(account, in: transaction) else {
            // The next claim goes on. Nothing is claimed by a policy that holds no more.
            account.ring(messages: 1)
            return .withheld(until: transaction.now)
        }
        let expiring = try Expiring.perform(account, in: transaction)
        if expiring.hasMore(at: transaction.now) {
            // The next claim goes on. None of them is handed out meanwhile.
            account.ring(messages: 1)
            return .withheld(until: transaction.now)
        }
        let leaseRoom = try LeaseLimits.room(of: account, in: transaction) ?? .max
        let rateRoom = try Rates.room(of: account, in: transaction) ?? .max
        let room = min(leaseRoom, rateRoom)
        // What waits for the end of a lease as well is rung for then.
        let waitsForTime = rateRoom < leaseRoom
        if room == 0, try account.readyCount(transaction.connection) > 0 {
            let start = waitsForTime ? try Rates.opens(account, in: transaction) : nil
            return .withheld(until: earlier(start, expiring.next))
        }
        let isAllOpen = try GroupRates.openDue(account, in: transaction)
        let hasSchedules = try transaction.policies.hasSchedules(account.id, transaction.connection)
        let firesMore = try hasSchedules && Firing.fireDue(of: account.id, in: transaction)
        let promotion = try promote(account, in: transaction)
        var due = promotion.nextDue
        // A token is a random number and the message's sequence number, so that one statement can write those of all
        // messages. Of 62 bits, so that no sum overflows: SQLite would go on with a floating-point number.
        let tokenBase = Int64(bitPattern: transaction.random.next() >> 2)
        let reading = try readReady(
            account, limit: min(limit, room), before: promotion.wholeBefore, tokenBase, in: transaction)
        var messages = reading.messages
        let connection = transaction.connection
        if !messages.isEmpty {
            let lease = LeaseRow(
                tokenBase: tokenBase,
                workerID: try remote
                    ?? request.remoteWorker.map { try RemoteWorkers.register($0, in: transaction) }
                    ?? worker.register(in: transaction),
                deadline: transaction.time.boot.microseconds + request.lease.wholeMicroseconds)
            try move(&messages, reading.turns, account, lease, in: transaction)
            try UniqueKeys.releaseClaimed(reading.keysWhileWaiting, account, in: transaction)
            let newCount = messages.count { $0.lease.sequence.rawValue > transaction.lastSequenceBefore }
            let promotedCount = messages.count { promotion.promoted.contains($0.lease.sequence.rawValue) }
            try ExpiryRows.end(reading.expiring, connection)
            if reading.hasTasks { try TaskPlaces.fill(&messages, connection) }
            account.claimed(messages.count, newCount: newCount, promotedCount: promotedCount)
            account.change.latency.wait.add(reading.wait)
            try Rates.started(messages.count, of: account, in: transaction)
            try GroupRates.started(messages, of: account, in: transaction)
        }
        if hasSchedules {
            let next = try Firing.nextDue(of: account.id, after: transaction.now, connection)
            due = earlier(due, firesMore ? transaction.now : next)
        }
        var expiry: Timestamp?
        // A queue without schedules has no others that expire than those that were there.
        if expiring.next != nil || hasSchedules {
            expiry = try ExpiryRows.first(of: account.id, from: hasSchedules ? nil : expiring.next, connection)?.expires
        }
        due = earlier(due, expiry)
        let opening =
            account.hasGroupRates == true
            ? try GroupRates.nextOpening(account.id, transaction.boot, transaction.now, connection) : nil
        var claim = Claim(messages: messages, nextDue: earlier(due, opening))
        claim.isLimited = isLimited
        if room < limit, messages.count == room, try account.readyCount(connection) > 0 {
            claim.isWithheld = true
            // What comes into line meanwhile could not be claimed either.
            claim.nextDue = earlier(expiry, waitsForTime ? try Rates.opens(account, in: transaction) : nil)
        } else if !isAllOpen || promotion.wholeBefore != nil {
            // The next claim goes on with the groups whose time has come, and with what is due.
            account.ring(messages: 1)
            claim.isWithheld = true
            claim.nextDue = transaction.now
        }
        return claim
    }

    /// What has become of a queue's scheduled messages.
    private struct Promotion {
        /// The numbers of those that were made ready.
        var promoted: Set<Int64> = []
        /// When the first of the others is due: now or earlier, where more were due than one claim makes ready.
        var nextDue: Timestamp?
        /// Before which number all that is due is in line, where that matters; `nil`: it does not.
        var wholeBefore: Int64?
    }

    private static func promote(_ account: QueueAccount, in transaction: Transaction) throws -> Promotion {
        var start = transaction.policies.dueStart(of: account.id, at: transaction.now)
        var promotion = Promotion(nextDue: try firstDue(of: account, from: &start, in: transaction))
        if let first = promotion.nextDue, first <= transaction.now {
            promotion.promoted = try makeDueReady(account, from: start, in: transaction)
            promotion.nextDue = try firstDue(of: account, from: &start, in: transaction)
            if case .fifo = account.policy.groups, let next = promotion.nextDue, next <= transaction.now {
                // Among those that are not in line yet one may go before others of its group, by its number.
                promotion.wholeBefore = try firstDueNumber(of: account.id, in: transaction)
            }
        }
        if transaction.connection.isServer {
            // What is scheduled later is due later, whoever schedules it.
            let next = min(promotion.nextDue ?? transaction.now, transaction.now) - LeaseHorizon.margin
            transaction.onCommit { [policies = transaction.policies] in
                policies.noneIsDue(before: next, of: account.id)
            }
        }
        return promotion
    }

    /// When the first of a queue's scheduled messages is due. None is said to be due before `start`; where that proves wrong, the look
    /// begins anew with the first of all, and so do those after it.
    private static func firstDue(
        of account: QueueAccount, from start: inout Int64, in transaction: Transaction
    ) throws -> Timestamp? {
        let connection = transaction.connection
        if let first = try firstDue(of: account.id, from: start, connection) { return first }
        guard start > .min, try account.scheduledCount(connection) > 0 else { return nil }
        start = .min
        return try firstDue(of: account.id, from: start, connection)
    }

    /// Makes scheduled messages that are due ready, up to ``Limits/promotionCountMax`` of them, and gives their numbers. It ends behind one
    /// with which it has used up the transaction's time, or the bytes that it may have written anew.
    private static func makeDueReady(
        _ account: QueueAccount, from start: Int64, in transaction: Transaction
    ) throws -> Set<Int64> {
        let connection = transaction.connection
        let due = try connection.all(
            selectDue, .integer(account.id), .integer(transaction.now.microseconds),
            .integer(Int64(Limits.promotionCountMax)), .integer(start)
        ) { row in
            let entry = LineEntry(
                sequence: row.integer(0), account: account, state: .scheduled, priority: row.integer(1),
                attempt: row.integer(2), forgiven: row.integer(3), marks: Marks(rawValue: row.integer(4)))
            return (entry: entry, due: Timestamp(microseconds: row.integer(5)))
        }
        var promoted: Set<Int64> = []
        let bytesBefore = transaction.bytesLeft
        for (entry, due) in due {
            if transaction.isUsedUp(since: bytesBefore) || !promoted.isEmpty && transaction.isOverdue { break }
            try Line.move(entry, to: entry.outcome(.ready, due: due), in: transaction)
            promoted.insert(entry.sequence)
        }
        return promoted
    }

    /// Moves messages that are next in line from `penstock_ready` to `penstock_lease`. They are the first of each
    /// priority they have, so one range for each priority holds them all. One that a worker has already stays where the
    /// worker has it, and is taken out of `messages`.
    private static func move(
        _ messages: inout [ClaimedMessage], _ turns: [Int64], _ account: QueueAccount, _ lease: LeaseRow,
        in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        var leasedAlready: Set<Int64> = []
        var firstIndex = 0
        for (index, message) in messages.enumerated()
        where index + 1 == messages.count || messages[index + 1].priority != message.priority {
            let first = messages[firstIndex].lease.sequence.rawValue
            let last = message.lease.sequence.rawValue
            let (firstTurn, turn) = (turns[firstIndex], turns[index])
            firstIndex = index + 1
            func insert() throws {
                let isOfOneTurn = connection.isServer && firstTurn == turn
                try connection.run(isOfOneTurn ? insertLeasesOfOneTurn : insertLeases) { row in
                    row.bind(account.id, at: 1)
                    row.bind(Int64(message.priority), at: 2)
                    row.bind(last, at: 3)
                    row.bind(lease.tokenBase, at: 4)
                    row.bind(lease.workerID, at: 5)
                    row.bind(transaction.now.microseconds, at: 6)
                    row.bind(lease.deadline, at: 7)
                    row.bind(turn, at: 8)
                    guard connection.isServer else { return }
                    if !isOfOneTurn { row.bind(firstTurn, at: 9) }
                    row.bind(first, at: 10)
                }
            }
            do {
                try connection.attempt(insert)
            } catch  where error.isContradiction {
                let found = try connection.all(
                    selectLeased, .integer(account.id), .integer(Int64(message.priority)), .integer(last),
                    .integer(turn),
                    read: { $0.integer(0) })
                for sequence in found {
                    try Quarantine.setAside(
                        .ready, sequence, of: account.id, because: Quarantine.Reason.leased, in: transaction)
                }
                leasedAlready.formUnion(found)
                try insert()
            }
            if !connection.isServer {
                try connection.run(
                    deleteReady, .integer(account.id), .integer(Int64(message.priority)), .integer(last), .integer(turn)
                )
            }
            let place = LinePlace(priority: Int64(message.priority), turn: turn, sequence: last)
            account.change.lineStart.claimed(upTo: place)
            if account.hasTurns { try Turns.claimed(upTo: place, account, connection) }
        }
        if !leasedAlready.isEmpty { messages.removeAll { leasedAlready.contains($0.lease.sequence.rawValue) } }
    }

    /// What the leases of one claim have in common.
    private struct LeaseRow {
        var tokenBase: Int64
        var workerID: Int64
        var deadline: Int64
    }

    /// When the first of a queue's scheduled messages is due that are not due before `start`.
    static func firstDue(of id: Int64, from start: Int64, _ connection: Connection) throws -> Timestamp? {
        try connection.first(readFirstDue, .integer(id), .integer(start)) { Timestamp(microseconds: $0.integer(0)) }
    }

    private static let readFirstDue = Query(
        "SELECT due_at FROM penstock_scheduled WHERE queue_id = ?1 AND due_at >= ?2 ORDER BY due_at LIMIT 1")
    private static let selectDue = Query(
        """
        SELECT sequence, priority, attempt, forgiven, marks, due_at FROM penstock_scheduled
        WHERE queue_id = ?1 AND due_at BETWEEN ?4 AND ?2 ORDER BY due_at, sequence LIMIT ?3
        """)
    private static let selectLeased = Query(
        """
        SELECT ready.sequence FROM penstock_ready AS ready JOIN penstock_lease AS lease
            ON lease.sequence = ready.sequence
        WHERE ready.queue_id = ?1 AND ready.priority = ?2 AND (ready.turn, ready.sequence) <= (?4, ?3)
        """)
    // A server takes the rows out of the line in the statement that leases them, and so looks for them once. It ends to look by the first
    // column of a row that is compared, so the range of rows of one turn is said by their numbers.
    private static let insertLeases = Query(
        "\(leasing) FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND (turn, sequence) <= (?8, ?3)",
        server: taking("turn BETWEEN ?9 AND ?8 AND (turn, sequence) BETWEEN (?9, ?10) AND (?8, ?3)"))
    private static let insertLeasesOfOneTurn = Query(taking("turn = ?8 AND sequence BETWEEN ?10 AND ?3"))
    private static func taking(_ range: String) -> String {
        """
        WITH taken AS (
            \(removing) AND \(range)
            RETURNING sequence, queue_id, priority, attempt, forgiven, marks
        )
        \(leasing) FROM taken
        """
    }
    private static let leasing = """
        INSERT INTO penstock_lease
            (sequence, queue_id, token, worker_id, claimed_at, deadline, priority, attempt, forgiven, marks)
        SELECT sequence, queue_id, ?4 + sequence, ?5, ?6, ?7, priority, attempt + 1, forgiven, marks
        """
    private static let deleteReady = Query("\(removing) AND (turn, sequence) <= (?4, ?3)")
    private static let removing = "DELETE FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2"
}
