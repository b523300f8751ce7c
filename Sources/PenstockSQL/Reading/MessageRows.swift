import PenstockCore

/// What the tables have of some messages.
struct MessageRows {
    /// A message, without its payload and its attempts.
    struct Row {
        var record: MessageRecord
        /// How long the errors of its attempts are, if they were asked for.
        var errorBytes: Int

        /// Bytes that it brings to a page.
        func carriedBytes(_ query: MessageQuery) -> Int {
            record.carriedBytes + errorBytes + (query.withPayload ? record.payloadBytes : 0)
        }
    }

    /// Those that answer the query.
    private(set) var found: [Int64: Row] = [:]

    init(
        of sequences: [Int64], _ query: MessageQuery, _ queues: Set<Int64>, at clocks: (boot: BootTime, now: Timestamp),
        _ connection: Connection
    ) throws {
        let rows = try Self.rows(of: sequences, query, queues, withErrorBytes: query.withAttempts, connection) { row in
            Row(record: Self.record(row, at: clocks), errorBytes: Int(row.integer(Column.errorBytes.rawValue)))
        }
        found = Dictionary(rows.map { ($0.record.sequence.rawValue, $0) }, uniquingKeysWith: { $1 })
    }

    static func matching(
        _ sequences: [Int64], _ query: MessageQuery, _ queues: Set<Int64>, _ connection: Connection
    ) throws -> [Int64] {
        let found = Set(
            try rows(of: sequences, query, queues, connection) { $0.integer(Column.sequence.rawValue) })
        return sequences.filter(found.contains)
    }

    static func readPayloads(of records: inout [MessageRecord], _ connection: Connection) throws {
        if records.isEmpty { return }
        let rows = try connection.all(selectPayloads, list(of: records)) { ($0.integer(0), try $0.bytes(1)) }
        let payloads = Dictionary(rows, uniquingKeysWith: { $1 })
        for index in records.indices { records[index].payload = payloads[records[index].sequence.rawValue] ?? [] }
    }

    static func readAttempts(of records: inout [MessageRecord], _ connection: Connection) throws {
        if records.isEmpty { return }
        let rows = try connection.all(selectAttempts, list(of: records)) { row in
            let attempt = AttemptRecord(
                attempt: Int(row.integer(1)),
                outcome: AttemptOutcome(rawValue: row.text(2) ?? "") ?? .failed,
                error: row.text(3) ?? "",
                worker: row.text(4) ?? "",
                startedAt: Timestamp(microseconds: row.integer(5)),
                endedAt: Timestamp(microseconds: row.integer(6)))
            return (sequence: row.integer(0), attempt: attempt)
        }
        let attempts = Dictionary(grouping: rows, by: \.sequence)
        for index in records.indices {
            let own = attempts[records[index].sequence.rawValue] ?? []
            records[index].attempts = own.map(\.attempt).sorted { $0.attempt < $1.attempt }
        }
    }

    private static func list(of records: [MessageRecord]) -> Value {
        .sequences(records.map(\.sequence.rawValue))
    }

    /// What `read` takes of the rows that answer a query.
    private static func rows<T>(
        of sequences: [Int64], _ query: MessageQuery, _ queues: Set<Int64>, withErrorBytes: Bool = false,
        _ connection: Connection, read: (PreparedStatement) -> T
    ) throws -> [T] {
        if sequences.isEmpty { return [] }
        return try connection.all(readRows, .sequences(sequences), .integer(withErrorBytes ? 1 : 0)) { row in
            matches(row, query, queues) ? read(row) : nil
        }.compactMap(\.self)
    }

    /// Whether a message is in one of these queues, and has the state and the time that a query asks for.
    private static func matches(_ row: PreparedStatement, _ query: MessageQuery, _ queues: Set<Int64>) -> Bool {
        let enqueuedAt = Timestamp(microseconds: row.integer(Column.enqueuedAt.rawValue))
        if let states = query.states, !states.contains(state(row)) { return false }
        if let since = query.since, enqueuedAt < since { return false }
        if let before = query.before, enqueuedAt >= before { return false }
        return queues.contains(row.integer(Column.queueID.rawValue))
    }

    private static func state(_ row: PreparedStatement) -> MessageState {
        func has(_ column: Column) -> Bool { !row.isNull(column.rawValue) }
        if let ended = row.text(Column.state.rawValue) { return MessageState(rawValue: ended) ?? .cancelled }
        if has(.claimedAt) { return .leased }
        if has(.due) { return .scheduled }
        if has(.pending) { return .pending }
        return has(.blocked) ? .blocked : .ready
    }

    private static func record(
        _ row: PreparedStatement, at clocks: (boot: BootTime, now: Timestamp)
    ) -> MessageRecord {
        func integer(_ column: Column) -> Int64? { row.optionalInteger(column.rawValue) }
        func text(_ column: Column) -> String? { row.text(column.rawValue) }
        func time(_ column: Column) -> Timestamp? { integer(column).map(Timestamp.init(microseconds:)) }
        let uniqueKey = text(.uniqueKey)
        let leaseEnd = integer(.deadline).map { BootTime(bootID: text(.clock) ?? "", microseconds: $0) }
        return MessageRecord(
            sequence: SequenceNumber(row.integer(Column.sequence.rawValue)),
            queue: QueueName(stored: text(.queueName) ?? ""),
            state: state(row),
            reason: text(.reason).flatMap(StateReason.init),
            priority: Int(row.integer(Column.priority.rawValue)),
            attempt: Int(integer(.attempt) ?? 0),
            attemptsMax: Int(row.integer(Column.attemptsMax.rawValue)),
            enqueuedAt: Timestamp(microseconds: row.integer(Column.enqueuedAt.rawValue)),
            due: time(.due),
            expiresAt: time(.expires),
            claimedAt: time(.claimedAt),
            leaseEndsAt: leaseEnd?.wall(at: clocks.boot, clocks.now),
            worker: integer(.worker),
            cancelRequestedAt: integer(.claimedAt) == nil ? nil : time(.requestedAt),
            progress: time(.reportedAt).map {
                ProgressRows.record(millionths: integer(.millionths), text: text(.progress) ?? "", reportedAt: $0)
            },
            finishedAt: time(.finishedAt),
            uniqueKey: uniqueKey,
            keyScope: uniqueKey.map { _ in KeyScope(stored: integer(.keyScope)) },
            group: text(.group),
            headers: HeaderText.decode(text(.headers)),
            origin: integer(.origin).map { SequenceNumber($0) },
            payloadBytes: Int(row.integer(Column.payloadBytes.rawValue)))
    }

    /// The columns of ``readRows``, in their order.
    private enum Column: Int {
        case sequence, queueID, queueName, priority, enqueuedAt, uniqueKey, keyScope, group, headers, origin,
            payloadBytes
        case attemptsMax, state, reason, finishedAt, claimedAt, deadline, worker, clock, due, requestedAt,
            millionths, progress, reportedAt
        case pending, blocked, expires, attempt, errorBytes
    }

    private static let selectPayloads = Query(
        """
        SELECT log.sequence, log.payload
        FROM json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value
        """)

    private static let selectAttempts = Query(
        """
        SELECT attempt.sequence, attempt.attempt, attempt.outcome, attempt.error, attempt.worker, attempt.started_at,
            attempt.ended_at
        FROM json_each(?1) AS listed CROSS JOIN penstock_attempt AS attempt ON attempt.sequence = listed.value
        """)

    private static let readRows = Query(
        """
        SELECT log.sequence, log.queue_id, queue.name, log.priority, log.enqueued_at, log.unique_key, log.key_scope,
            log.group_key, log.headers,
            log.origin, length(log.payload) AS payload_bytes,
            coalesce(log.attempts_max, queue.attempts_max) AS attempts_max,
            outcome.state, outcome.reason, outcome.finished_at, lease.claimed_at, lease.deadline, lease.worker_id,
            (SELECT worker.boot_id FROM penstock_worker AS worker WHERE worker.id = lease.worker_id) AS clock,
            scheduled.due_at,
            request.requested_at, progress.millionths, progress.text AS progress, progress.reported_at,
            pending.sequence AS pending, blocked.sequence AS blocked,
            CASE WHEN outcome.sequence IS NOT NULL
                OR coalesce(lease.marks, ready.marks, scheduled.marks, pending.marks, blocked.marks)
                    & \(Marks.expiry.rawValue) <> 0 THEN log.expires_at END AS expires_at,
            coalesce(outcome.attempt, lease.attempt, scheduled.attempt, ready.attempt, pending.attempt, blocked.attempt)
                AS attempt,
            CASE ?2 WHEN 1 THEN (SELECT sum(length(CAST(attempt.error AS BLOB)))
                FROM penstock_attempt AS attempt WHERE attempt.sequence = log.sequence) END AS error_bytes
        FROM json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value
        JOIN penstock_queue AS queue ON queue.id = log.queue_id
        LEFT JOIN penstock_outcome AS outcome
            ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
        LEFT JOIN penstock_lease AS lease ON lease.sequence = log.sequence
        LEFT JOIN penstock_cancel AS request ON request.sequence = lease.sequence
        LEFT JOIN penstock_progress AS progress ON progress.sequence = lease.sequence
        LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
        LEFT JOIN penstock_pending AS pending
            ON pending.queue_id = log.queue_id AND pending.sequence = log.sequence
        LEFT JOIN penstock_blocked AS blocked
            ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence
        LEFT JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id
            AND ready.priority = log.priority AND ready.turn = log.turn AND ready.sequence = log.sequence
        """)
}
