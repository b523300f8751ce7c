package import PenstockCore

/// Reads messages of the log with what the line knows of them.
package enum MessageReader {
    /// Answers one query, in the order of sequence.
    package static func messages(_ query: MessageQuery, _ connection: Connection) throws -> MessagePage {
        let queues = try QueueReader.ids(query.queue, connection)
        var walk = try SequenceWalk(query, queues, connection)
        let ids = Set(queues)
        let look = MessageLook(group: query.group, query.matching, connection)
        var bounds = LookBounds(query)
        var bytes = PageBytes()
        var page = MessagePage()
        var last: SequenceNumber?
        // Those nearest the end that is asked for come first, as the page may become full.
        while let sequence = try walk.next() {
            if page.records.count == query.limit || bounds.areReached {
                page.next = last
                break
            }
            let sight = try look?.look(at: sequence)
            bounds.count(payloadBytes: sight?.payloadBytes ?? 0)
            guard look == nil || sight?.passes == true,
                var record = try connection.first(
                    readRecord, .integer(sequence),
                    read: { row in
                        matches(row, query, ids) ? record(row) : nil
                    }) ?? nil
            else {
                last = SequenceNumber(sequence)
                continue
            }
            if query.withAttempts { record.attempts = try attempts(of: sequence, connection) }
            // Whether it is taken is known before its payload is read.
            guard bytes.admits(record.carriedBytes + (query.withPayload ? record.payloadBytes : 0)) else {
                page.next = last
                break
            }
            if query.withPayload { record.payload = try payload(of: sequence, connection) }
            page.records.append(record)
            last = record.sequence
        }
        if query.end == .last { page.records.reverse() }
        return page
    }

    /// The sequence numbers of messages that match a query, in their order, and the last message that was looked at; `nil` when
    /// there are no more. Rows of the line without a message in the log are among them when nothing has to be looked for.
    package static func sequences(_ query: MessageQuery, _ connection: Connection) throws -> (
        found: [Int64], last: SequenceNumber?
    ) {
        let queues = try QueueReader.ids(query.queue, connection)
        var walk = try SequenceWalk(query, queues, connection)
        let look = MessageLook(group: query.group, query.matching, connection)
        var bounds = LookBounds(query)
        var found: [Int64] = []
        var last: SequenceNumber?
        while let sequence = try walk.next() {
            if found.count == query.limit || bounds.areReached { return (found, last) }
            let sight = try look?.look(at: sequence)
            bounds.count(payloadBytes: sight?.payloadBytes ?? 0)
            last = SequenceNumber(sequence)
            if look != nil, sight?.passes != true { continue }
            if !walk.isByState {
                let isWanted = try connection.first(readRecord, .integer(sequence)) { matches($0, query, Set(queues)) }
                guard isWanted == true else { continue }
            }
            found.append(sequence)
        }
        return (found, nil)
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

    private static func record(_ row: PreparedStatement) -> MessageRecord {
        func integer(_ column: Column) -> Int64? { row.optionalInteger(column.rawValue) }
        func text(_ column: Column) -> String? { row.text(column.rawValue) }
        func time(_ column: Column) -> Timestamp? { integer(column).map(Timestamp.init(microseconds:)) }
        let uniqueKey = text(.uniqueKey)
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
            worker: integer(.worker),
            cancelRequestedAt: integer(.claimedAt) == nil ? nil : time(.requestedAt),
            progress: time(.reportedAt).map { reportedAt in
                ProgressRows.record(
                    millionths: integer(.millionths), text: text(.progress) ?? "", reportedAt: reportedAt.microseconds)
            },
            finishedAt: time(.finishedAt),
            uniqueKey: uniqueKey,
            keyScope: uniqueKey.map { _ in KeyScope(stored: integer(.keyScope)) },
            group: text(.group),
            headers: HeaderText.decode(text(.headers)),
            origin: integer(.origin).map { SequenceNumber($0) },
            payloadBytes: Int(row.integer(Column.payloadBytes.rawValue)))
    }

    /// The columns of ``readRecord``, in their order.
    private enum Column: Int {
        case sequence, queueID, queueName, priority, enqueuedAt, uniqueKey, keyScope, group, headers, origin,
            payloadBytes
        case attemptsMax, state, reason, finishedAt, claimedAt, worker, due, requestedAt, millionths, progress,
            reportedAt
        case pending, blocked, expires, attempt
    }

    private static func payload(of sequence: Int64, _ connection: Connection) throws -> [UInt8] {
        try connection.first(readPayload, .integer(sequence)) { try $0.bytes(0) } ?? []
    }

    private static let readPayload = Query("SELECT payload FROM penstock_log WHERE sequence = ?1")

    private static func attempts(of sequence: Int64, _ connection: Connection) throws -> [AttemptRecord] {
        try connection.all(selectAttempts, .integer(sequence)) { row in
            AttemptRecord(
                attempt: Int(row.integer(0)),
                outcome: AttemptOutcome(rawValue: row.text(1) ?? "") ?? .failed,
                error: row.text(2) ?? "",
                worker: row.text(3) ?? "",
                startedAt: Timestamp(microseconds: row.integer(4)),
                endedAt: Timestamp(microseconds: row.integer(5)))
        }
    }

    private static let selectAttempts = Query(
        """
        SELECT attempt, outcome, error, worker, started_at, ended_at
        FROM penstock_attempt WHERE sequence = ?1 ORDER BY attempt
        """)

    private static let readRecord = Query(
        """
        SELECT log.sequence, log.queue_id, queue.name, log.priority, log.enqueued_at, log.unique_key, log.key_scope,
            log.group_key, log.headers,
            log.origin, length(log.payload) AS payload_bytes,
            coalesce(log.attempts_max, queue.attempts_max) AS attempts_max,
            outcome.state, outcome.reason, outcome.finished_at, lease.claimed_at, lease.worker_id, scheduled.due_at,
            request.requested_at, progress.millionths, progress.text AS progress, progress.reported_at,
            pending.sequence AS pending, blocked.sequence AS blocked,
            CASE WHEN outcome.sequence IS NOT NULL
                OR coalesce(lease.marks, ready.marks, scheduled.marks, pending.marks, blocked.marks)
                    & \(Marks.expiry.rawValue) <> 0 THEN log.expires_at END AS expires_at,
            coalesce(outcome.attempt, lease.attempt, scheduled.attempt, ready.attempt, pending.attempt, blocked.attempt)
                AS attempt
        FROM penstock_log AS log
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
        WHERE log.sequence = ?1
        """)
}
