import PenstockCore

/// Leasing ready messages to a worker.
enum Claiming {
    /// Answers a claim that has nothing to take, without a transaction: an idle worker's look costs no lock.
    ///
    /// - Returns: the empty claim, or `nil` when there is something to take or to make ready.
    static func glance(_ request: ClaimRequest, _ connection: Connection, _ now: Timestamp) throws -> Claim? {
        let queue = try connection.first(readQueue, .text(request.queue.text)) { ($0.integer(0), $0.integer(1) != 0) }
        guard let (id, isPaused) = queue else { throw Transaction.unknownQueue(request.queue) }
        if isPaused { return Claim(messages: [], nextDue: nil) }
        if try connection.first(anyReady, .integer(id), read: { _ in true }) == true { return nil }
        let due = try connection.first(firstDue, .integer(id)) { Timestamp(microseconds: $0.integer(0)) }
        if let due, due <= now { return nil }
        return Claim(messages: [], nextDue: due)
    }

    /// Carries out one claim.
    static func perform(
        _ request: ClaimRequest, worker: WorkerIdentity, in transaction: Transaction
    ) throws -> Claim {
        let account = try transaction.account(of: request.queue)
        if account.isPaused { return Claim(messages: [], nextDue: nil) }
        try promote(account, in: transaction)
        let connection = transaction.connection
        let ready = try connection.all(selectReady, .integer(account.id), .integer(Int64(request.limit))) { row in
            Ready(
                sequence: row.integer(0), priority: row.integer(1), attempt: row.integer(2), forgiven: row.integer(3),
                keyed: row.integer(4))
        }
        var messages: [ClaimedMessage] = []
        if !ready.isEmpty {
            messages.reserveCapacity(ready.count)
            let workerID = try worker.register(in: transaction)
            let deadline = transaction.time.boot.microseconds + request.lease.wholeMicroseconds
            var bytes = 0
            for message in ready {
                // Payloads of a claim are in memory together, so there is a bound on them as on a batch's.
                if bytes > Limits.batchBytesMax { break }
                let token = LeaseToken(random: transaction.random)
                try connection.run(insertLease) { row in
                    row.bind(message.sequence, at: 1)
                    row.bind(account.id, at: 2)
                    row.bind(token.rawValue, at: 3)
                    row.bind(workerID, at: 4)
                    row.bind(transaction.now.microseconds, at: 5)
                    row.bind(deadline, at: 6)
                    row.bind(message.priority, at: 7)
                    row.bind(message.attempt + 1, at: 8)
                    row.bind(message.forgiven, at: 9)
                    row.bind(message.keyed, at: 10)
                }
                let claimed = try read(message, token, in: transaction)
                bytes += claimed.payload.count
                messages.append(claimed)
            }
            try removeFromReady(ready.prefix(messages.count), account, connection)
            account.change.ready -= Int64(messages.count)
            account.change.leased += Int64(messages.count)
            if account.hasWaitingProducers { account.ring(messages: 0) }
        }
        let due = try connection.first(firstDue, .integer(account.id)) { Timestamp(microseconds: $0.integer(0)) }
        return Claim(messages: messages, nextDue: due)
    }

    private struct Ready {
        var sequence: Int64
        var priority: Int64
        var attempt: Int64
        var forgiven: Int64
        var keyed: Int64
    }

    /// Makes scheduled messages that are due ready, up to ``Limits/promotionCountMax`` of them.
    private static func promote(_ account: QueueAccount, in transaction: Transaction) throws {
        let connection = transaction.connection
        let due = try connection.all(
            selectDue, .integer(account.id), .integer(transaction.now.microseconds),
            .integer(Int64(Limits.promotionCountMax))
        ) { row in
            LineEntry(
                sequence: row.integer(0), account: account, state: .scheduled, priority: row.integer(1),
                attempt: row.integer(2), forgiven: row.integer(3), keyed: row.integer(4) != 0)
        }
        for entry in due {
            let ready = Lifecycle.Outcome(state: .ready, attempt: Int(entry.attempt), forgiven: Int(entry.forgiven))
            try Line.move(entry, to: ready, in: transaction)
        }
    }

    private static func read(
        _ message: Ready, _ token: LeaseToken, in transaction: Transaction
    ) throws -> ClaimedMessage {
        let lease = Lease(sequence: SequenceNumber(message.sequence), token: token)
        let claimed = try transaction.connection.first(readLog, .integer(message.sequence)) { row in
            ClaimedMessage(
                lease: lease, attempt: Int(message.attempt) + 1,
                enqueuedAt: Timestamp(microseconds: row.integer(0)), priority: Int(message.priority),
                headers: HeaderText.decode(row.text(1)), payload: row.bytes(3),
                origin: row.optionalInteger(2).map { SequenceNumber($0) })
        }
        guard let claimed else {
            throw PenstockError(
                .corrupt,
                "\(transaction.path) has message \(message.sequence) in line but not in its log; run `penstock doctor`."
            )
        }
        return claimed
    }

    /// Takes the claimed messages out of `penstock_ready`. They are the first of each priority they have, so one
    /// range for each priority removes them all.
    private static func removeFromReady(
        _ ready: ArraySlice<Ready>, _ account: QueueAccount, _ connection: Connection
    ) throws {
        for (index, message) in ready.enumerated()
        where index + 1 == ready.count || ready[index + 1].priority != message.priority {
            try connection.run(
                deleteReady, .integer(account.id), .integer(message.priority), .integer(message.sequence))
        }
    }

    private static let readQueue = Query("SELECT id, paused FROM penstock_queue WHERE name = ?1")
    private static let anyReady = Query("SELECT 1 FROM penstock_ready WHERE queue_id = ?1 LIMIT 1")
    private static let firstDue = Query(
        "SELECT due_at FROM penstock_scheduled WHERE queue_id = ?1 ORDER BY due_at LIMIT 1")
    private static let selectDue = Query(
        """
        SELECT sequence, priority, attempt, forgiven, keyed FROM penstock_scheduled
        WHERE queue_id = ?1 AND due_at <= ?2 ORDER BY due_at, sequence LIMIT ?3
        """)
    private static let selectReady = Query(
        """
        SELECT sequence, priority, attempt, forgiven, keyed FROM penstock_ready
        WHERE queue_id = ?1 ORDER BY priority DESC, sequence LIMIT ?2
        """)
    private static let deleteReady = Query(
        "DELETE FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND sequence <= ?3")
    private static let insertLease = Query(
        """
        INSERT INTO penstock_lease
            (sequence, queue_id, token, worker_id, claimed_at, deadline, priority, attempt, forgiven, keyed)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        """)
    private static let readLog = Query(
        "SELECT enqueued_at, headers, origin, payload FROM penstock_log WHERE sequence = ?1")
}
