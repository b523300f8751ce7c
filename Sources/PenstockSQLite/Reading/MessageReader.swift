import Foundation
import GRDB
import PenstockCore

/// Reads messages of the log with what the line knows of them.
enum MessageReader {
    /// Answers one query, in the order of sequence.
    static func messages(_ query: MessageQuery, _ database: Database) throws -> MessagePage {
        let queues = try QueueReader.ids(query.queue, database)
        var walk = try SequenceWalk(query, queues, database)
        let ids = Set(queues)
        let look = MessageLook(group: query.group, query.matching, database)
        var bounds = LookBounds(query)
        var bytes = PageBytes()
        var page = MessagePage()
        var last: SequenceNumber?
        let statement = try database.cachedStatement(sql: recordSQL)
        // Those nearest the end that is asked for come first, as the page may become full.
        while let sequence = try walk.next() {
            if page.records.count == query.limit || bounds.areReached {
                page.next = last
                break
            }
            let sight = try look?.look(at: sequence)
            bounds.count(payloadBytes: sight?.payloadBytes ?? 0)
            guard look == nil || sight?.passes == true,
                let row = try Row.fetchOne(statement, arguments: [sequence]), matches(row, query, ids)
            else {
                last = SequenceNumber(sequence)
                continue
            }
            var record = record(row)
            if query.withAttempts { record.attempts = try attempts(of: sequence, database) }
            // Whether it is taken is known before its payload is read.
            guard bytes.admits(record.carriedBytes + (query.withPayload ? record.payloadBytes : 0)) else {
                page.next = last
                break
            }
            if query.withPayload { record.payload = try payload(of: sequence, database) }
            page.records.append(record)
            last = record.sequence
        }
        if query.end == .last { page.records.reverse() }
        return page
    }

    /// The sequence numbers of messages that match a query, in their order, and the last message that was looked at; `nil` when
    /// there are no more. Rows of the line without a message in the log are among them when nothing has to be looked for.
    static func sequences(_ query: MessageQuery, _ database: Database) throws -> (found: [Int64], last: SequenceNumber?)
    {
        let queues = try QueueReader.ids(query.queue, database)
        var walk = try SequenceWalk(query, queues, database)
        let look = MessageLook(group: query.group, query.matching, database)
        var bounds = LookBounds(query)
        var found: [Int64] = []
        var last: SequenceNumber?
        let statement = try database.cachedStatement(sql: recordSQL)
        while let sequence = try walk.next() {
            if found.count == query.limit || bounds.areReached { return (found, last) }
            let sight = try look?.look(at: sequence)
            bounds.count(payloadBytes: sight?.payloadBytes ?? 0)
            last = SequenceNumber(sequence)
            if look != nil, sight?.passes != true { continue }
            if !walk.isByState {
                let row = try Row.fetchOne(statement, arguments: [sequence])
                guard let row, matches(row, query, Set(queues)) else { continue }
            }
            found.append(sequence)
        }
        return (found, nil)
    }

    /// Whether a message is in one of these queues, and has the state and the time that a query asks for.
    private static func matches(_ row: Row, _ query: MessageQuery, _ queues: Set<Int64>) -> Bool {
        let enqueuedAt = Timestamp(microseconds: row["enqueued_at"])
        if let states = query.states, !states.contains(state(row)) { return false }
        if let since = query.since, enqueuedAt < since { return false }
        if let before = query.before, enqueuedAt >= before { return false }
        return queues.contains(row["queue_id"])
    }

    private static func state(_ row: Row) -> MessageState {
        if let ended: String = row["state"] { return MessageState(rawValue: ended) ?? .cancelled }
        if row["claimed_at"] != nil { return .leased }
        if row["due_at"] != nil { return .scheduled }
        if row["pending"] != nil { return .pending }
        return row["blocked"] != nil ? .blocked : .ready
    }

    private static func record(_ row: Row) -> MessageRecord {
        let due: Int64? = row["due_at"]
        let claimed: Int64? = row["claimed_at"]
        let finished: Int64? = row["finished_at"]
        let asked: Int64? = row["requested_at"]
        let reason: String? = row["reason"]
        let origin: Int64? = row["origin"]
        return MessageRecord(
            sequence: SequenceNumber(row["sequence"] as Int64),
            queue: QueueName(stored: row["name"]),
            state: state(row),
            reason: reason.flatMap(StateReason.init),
            priority: row["priority"],
            attempt: row["attempt"] ?? 0,
            attemptsMax: row["attempts_max"],
            enqueuedAt: Timestamp(microseconds: row["enqueued_at"]),
            due: due.map(Timestamp.init(microseconds:)),
            expiresAt: (row["expires_at"] as Int64?).map(Timestamp.init(microseconds:)),
            claimedAt: claimed.map(Timestamp.init(microseconds:)),
            worker: row["worker_id"],
            cancelRequestedAt: claimed == nil ? nil : asked.map(Timestamp.init(microseconds:)),
            progress: (row["reported_at"] as Int64?).map { reportedAt in
                ProgressRows.record(millionths: row["millionths"], text: row["progress"] ?? "", reportedAt: reportedAt)
            },
            finishedAt: finished.map(Timestamp.init(microseconds:)),
            uniqueKey: row["unique_key"],
            keyScope: (row["unique_key"] as String?).map { _ in KeyScope(stored: row["key_scope"]) },
            group: row["group_key"],
            headers: HeaderText.decode(row["headers"]),
            origin: origin.map { SequenceNumber($0) },
            payloadBytes: row["payload_bytes"])
    }

    private static func payload(of sequence: Int64, _ database: Database) throws -> [UInt8] {
        try Connection(database).first(readPayload, .integer(sequence)) { try $0.bytes(0) } ?? []
    }

    private static let readPayload = Query("SELECT payload FROM penstock_log WHERE sequence = ?1")

    private static func attempts(of sequence: Int64, _ database: Database) throws -> [AttemptRecord] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT attempt, outcome, CAST(error AS BLOB) AS error, worker, started_at, ended_at
                FROM penstock_attempt WHERE sequence = ? ORDER BY attempt
                """)
        return try Row.fetchAll(statement, arguments: [sequence]).map { row in
            AttemptRecord(
                attempt: row["attempt"],
                outcome: AttemptOutcome(rawValue: row["outcome"]) ?? .failed,
                // What a command wrote may hold zero bytes, at which GRDB would end the text.
                error: String(decoding: row["error"] as Data, as: UTF8.self),
                worker: row["worker"],
                startedAt: Timestamp(microseconds: row["started_at"]),
                endedAt: Timestamp(microseconds: row["ended_at"]))
        }
    }

    private static let recordSQL = """
        SELECT log.sequence, log.queue_id, queue.name, log.priority, log.enqueued_at, log.unique_key, log.key_scope,
            log.group_key, log.headers,
            log.origin, length(log.payload) AS payload_bytes,
            coalesce(log.attempts_max, queue.attempts_max) AS attempts_max,
            outcome.state, outcome.reason, outcome.finished_at, lease.claimed_at, lease.worker_id, scheduled.due_at,
            request.requested_at, progress.millionths, progress.text AS progress, progress.reported_at,
            pending.sequence AS pending, blocked.sequence AS blocked,
            CASE WHEN outcome.sequence IS NOT NULL
                OR coalesce(lease.marks, ready.marks, scheduled.marks, pending.marks, blocked.marks)
                    & \(Marks.expiry.rawValue) THEN log.expires_at END AS expires_at,
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
        WHERE log.sequence = ?
        """
}
