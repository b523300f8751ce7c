import PenstockCore

/// Reading what is next in a queue's line.
extension Claiming {
    /// How often one claim reads again after it has set rows aside. The next claim goes on.
    private static let setAsideRoundsMax = 16

    static func prefetchReady(of id: Int64, limit: Int, trusting: Bool, _ connection: Connection) throws {
        try connection.prefetch(selectReady) { statement in
            statement.bind(id, at: 1)
            statement.bind(Int64(limit), at: 2)
            bind(trusting ? nil : .first, to: statement)
        }
    }

    /// From where on a server looks; `nil`: from where the row in `penstock_depth` says.
    private static func bind(_ start: LinePlace?, to statement: PreparedStatement) {
        let numbers = [start == nil ? 0 : 1, start?.priority ?? 0, start?.turn ?? 0, start?.sequence ?? 0]
        for (index, number) in numbers.enumerated() { statement.bind(number, at: 3 + index) }
    }

    /// Among how many of the store's scheduled messages, those with the lowest numbers, the first that is due is looked for.
    private static let dueLookMax = 10 * Limits.promotionCountMax

    /// A number before which no scheduled message of a queue is due that has some that are: the lowest of theirs, or a lower one where
    /// that is behind many that are not due. Most come to be due in the order of their numbers, or many at one moment.
    static func firstDueNumber(of id: Int64, in transaction: Transaction) throws -> Int64 {
        try transaction.connection.integer(
            readFirstDueNumber, .integer(id), .integer(transaction.now.microseconds), .integer(Int64(dueLookMax))) ?? 0
    }

    /// The messages that are next in line, with their payloads. Rows that contradict the rest are set aside on the way.
    ///
    /// - Parameter end: a number; none is read from the first one on that has this or a higher one. `nil`: all are.
    static func readReady(
        _ account: QueueAccount, limit: Int, before end: Int64?, _ tokenBase: Int64, in transaction: Transaction
    ) throws -> Reading {
        var trusts = transaction.connection.isServer && transaction.policies.trustsLineStart(of: account.id)
        defer { if !trusts, transaction.connection.isServer { transaction.policies.looksAtWholeLine(of: account.id) } }
        func read() throws -> Reading {
            try readRows(account, limit: limit, before: end, tokenBase, trusting: trusts, in: transaction)
        }
        var reading = try read()
        if trusts, reading.isAll, try account.readyCount(transaction.connection) > reading.messages.count {
            // Some must be before the place where the line is said to begin.
            trusts = false
            reading = try read()
        }
        for _ in 1...setAsideRoundsMax where !reading.wrong.isEmpty {
            for (sequence, reason) in reading.wrong {
                try Quarantine.setAside(.ready, sequence, of: account.id, because: reason, in: transaction)
            }
            reading = try read()
        }
        if reading.isAll, limit > 0 { try noneIsLeft(account, reading.messages, in: transaction) }
        return reading.wrong.isEmpty ? reading : Reading()
    }

    /// Sees to it that the queue's depth says so when every ready message is taken.
    private static func noneIsLeft(
        _ account: QueueAccount, _ messages: [ClaimedMessage], in transaction: Transaction
    ) throws {
        if !messages.isEmpty || account.change != DepthChange() {
            account.change.readyIs(messages.count)
        } else if try account.readyCount(transaction.connection) != 0 {
            account.mustRecount()
        }
    }

    /// What is next in line.
    struct Reading {
        var messages: [ClaimedMessage] = []
        var turns: [Int64] = []
        /// Whether tasks of workflows are among them.
        var hasTasks = false
        /// Messages that hold their unique keys only while they wait.
        var keysWhileWaiting: [Int64] = []
        var expiring: [Int64] = []
        /// How long they have been ready.
        var wait = LatencyHistogram()
        /// Rows that contradict the rest, and why.
        var wrong: [(sequence: Int64, reason: String)] = []
        /// Whether nothing else is ready.
        var isAll = true
    }

    private static func readRows(
        _ account: QueueAccount, limit: Int, before end: Int64?, _ tokenBase: Int64, trusting: Bool,
        in transaction: Transaction
    ) throws -> Reading {
        let statement = try transaction.connection.statement(selectReady)
        defer { statement.reset() }
        statement.bind(account.id, at: 1)
        statement.bind(Int64(limit), at: 2)
        if transaction.connection.isServer {
            bind(try account.lineStart(trusting: trusting, transaction.connection), to: statement)
        }
        var reading = Reading()
        var bytes = 0
        var count = 0
        var isCut = false
        while try statement.step() {
            let number = statement.integer(0)
            if let end, number >= end {
                isCut = true
                break
            }
            count += 1
            let attempt = statement.integer(2)
            guard let enqueuedAt = statement.optionalInteger(3) else {
                reading.wrong.append((number, Quarantine.Reason.notInLog))
                continue
            }
            guard StoredRange.sequences.contains(number) else {
                reading.wrong.append((number, Quarantine.Reason.sequence))
                continue
            }
            guard StoredRange.attempts.contains(attempt) else {
                reading.wrong.append((number, Quarantine.Reason.attempt))
                continue
            }
            let marks = Marks(rawValue: statement.integer(7))
            if marks.contains(.task) { reading.hasTasks = true }
            if marks.contains([.uniqueKey, .keyWhileWaiting]) { reading.keysWhileWaiting.append(number) }
            if marks.contains(.expiry) { reading.expiring.append(number) }
            let sequence = SequenceNumber(number)
            let payload = try statement.bytes(6)
            reading.wait.record(
                microseconds: transaction.now.microseconds.elapsed(since: statement.optionalInteger(9) ?? enqueuedAt))
            let message = ClaimedMessage(
                lease: Lease(sequence: sequence, token: LeaseToken(rawValue: tokenBase + number)),
                attempt: Int(attempt) + 1, enqueuedAt: Timestamp(microseconds: enqueuedAt),
                priority: Int(statement.integer(1)), headers: HeaderText.decode(statement.text(4)),
                payload: payload, origin: statement.optionalInteger(5).map { SequenceNumber($0) },
                group: marks.contains(.group) ? statement.text(8) : nil)
            reading.messages.append(message)
            reading.turns.append(statement.integer(10))
            // The messages of a claim are in memory together, so there is a bound on them as on a batch.
            bytes += message.bytes
            if bytes > Limits.batchBytesMax { break }
        }
        reading.isAll = !isCut && count < limit && bytes <= Limits.batchBytesMax
        return reading
    }

    private static let readFirstDueNumber = Query(
        """
        SELECT coalesce(min(CASE WHEN queue_id = ?1 AND due_at <= ?2 THEN sequence END), max(sequence), 0) FROM (
            SELECT sequence, queue_id, due_at FROM penstock_scheduled WHERE sequence > 0 ORDER BY sequence LIMIT ?3) AS found
        """)
    private static let selectReady = Query(
        """
        SELECT \(readyColumns) FROM penstock_ready AS ready \(withLog)
        WHERE ready.queue_id = ?1 ORDER BY ready.priority DESC, ready.turn, ready.sequence LIMIT ?2
        """,
        // Where the line begins, and then what has a lower priority than that.
        server: """
            \(withStart)
            SELECT \(readyColumns) FROM (
                (SELECT * FROM penstock_ready WHERE queue_id = ?1
                    AND priority = CASE ?3 WHEN 1 THEN ?4 ELSE (SELECT from_priority FROM start) END
                    AND (turn, sequence) >= (CASE ?3 WHEN 1 THEN ?5 ELSE (SELECT from_turn FROM start) END,
                        CASE ?3 WHEN 1 THEN ?6 ELSE (SELECT from_sequence FROM start) END)
                ORDER BY turn, sequence LIMIT ?2)
                UNION ALL
                (SELECT * FROM penstock_ready WHERE queue_id = ?1
                    AND priority < CASE ?3 WHEN 1 THEN ?4 ELSE (SELECT from_priority FROM start) END
                ORDER BY priority DESC, turn, sequence LIMIT ?2)
                LIMIT ?2) AS ready \(withLog)
            ORDER BY ready.priority DESC, ready.turn, ready.sequence
            """)
    /// On a server: what the depths of queue ?1 say of its line.
    static let withStart = """
        WITH start AS MATERIALIZED (SELECT scheduled, ready, from_priority, from_turn, from_sequence
            FROM penstock_depth WHERE queue_id = ?1 ORDER BY version DESC LIMIT 1)
        """
    private static let readyColumns = """
        ready.sequence, ready.priority, ready.attempt, log.enqueued_at, log.headers, log.origin, log.payload,
            ready.marks, log.group_key, ready.ready_since, ready.turn
        """
    // The sum is there for a planner that takes all of the queue's log to be as good a way to one message as its number.
    private static let withLog = """
        LEFT JOIN penstock_log AS log ON log.sequence = ready.sequence
            AND log.queue_id + 0 = ready.queue_id AND log.priority = ready.priority AND log.turn = ready.turn
        """
}
