import PenstockCore

/// Finding where a message is.
extension Line {
    /// Where message `sequence` is; `nil` when the log does not know it, or it has no place in the line.
    static func locate(_ sequence: Int64, in transaction: Transaction) throws -> LineEntry? {
        let connection = transaction.connection
        if let leased = try leased(sequence, in: transaction) { return leased }
        guard
            let (queueID, priority, turn) = try connection.first(
                readLog, .integer(sequence), read: { ($0.integer(0), $0.integer(1), $0.integer(2)) }),
            let account = try transaction.account(id: queueID)
        else { return nil }
        func entry(_ state: MessageState, _ row: PreparedStatement) -> LineEntry {
            LineEntry(
                sequence: sequence, account: account, state: state, priority: priority, attempt: row.integer(0),
                forgiven: row.integer(1), marks: Marks(rawValue: row.integer(2)))
        }
        let ready = try connection.first(
            readReady, .integer(queueID), .integer(priority), .integer(sequence), .integer(turn),
            read: { entry(.ready, $0) })
        if let ready { return ready }
        let scheduled = try connection.first(readScheduled, .integer(sequence), read: { entry(.scheduled, $0) })
        if let scheduled { return scheduled }
        let ended = try connection.first(readOutcome, .integer(queueID), .integer(sequence)) { row in
            LineEntry(
                sequence: sequence, account: account,
                state: row.text(1).flatMap(MessageState.init) ?? .cancelled,
                priority: priority, attempt: row.integer(0), forgiven: 0, marks: [],
                reason: row.text(2).flatMap(StateReason.init))
        }
        if let ended { return ended }
        let pending = try connection.first(
            readPending, .integer(queueID), .integer(sequence), read: { entry(.pending, $0) })
        if let pending { return pending }
        return try connection.first(readBlocked, .integer(queueID), .integer(sequence), read: { entry(.blocked, $0) })
    }

    /// Where messages are that were found in a queue, by a few statements for all of them. Each that is not among the answer is to be
    /// looked for by itself.
    ///
    /// - Parameter sequences: in order, none of them twice.
    static func locate(
        _ sequences: [Int64], of account: QueueAccount, in transaction: Transaction
    ) throws -> [Int64: LineEntry] {
        let connection = transaction.connection
        let set = MessageSet(inOrder: sequences)
        var entries: [Int64: LineEntry] = [:]
        // The other way round than one is looked for: where it is found last counts.
        for (state, query) in selectPlaces {
            _ = try connection.all(query, on: set, .integer(account.id)) { row in
                let sequence = row.integer(0)
                entries[sequence] = LineEntry(
                    sequence: sequence, account: account,
                    state: state ?? row.text(5).flatMap(MessageState.init) ?? .cancelled, priority: row.integer(1),
                    attempt: row.integer(2), forgiven: row.integer(3), marks: Marks(rawValue: row.integer(4)),
                    reason: row.text(6).flatMap(StateReason.init), isPlain: row.integer(7) == 1)
            }
        }
        for (sequence, leased) in try leased(set, in: transaction) {
            entries[sequence] = leased.account.id == account.id ? leased : nil
        }
        return entries
    }

    /// What a message that waits leaves to the one that takes its place.
    ///
    /// - Parameter since: when the first of those was accepted that were replaced one by the other, if it has replaced one.
    static func replaced(_ entry: LineEntry, since: Int64?, in transaction: Transaction) throws -> ReplacedMessage {
        let accepted = try transaction.connection.first(readTimes, .integer(entry.sequence)) {
            ($0.integer(0), $0.optionalInteger(1))
        }
        let since = since ?? accepted?.0 ?? transaction.now.microseconds
        return ReplacedMessage(
            due: accepted?.1.map { Timestamp(microseconds: $0.clamped(to: StoredRange.times)) },
            since: Timestamp(microseconds: since.clamped(to: StoredRange.times)), now: transaction.now)
    }

    /// Where a task is that most likely waits for others: there it is looked for first.
    static func locateTask(_ sequence: Int64, in transaction: Transaction) throws -> LineEntry? {
        let pending = try transaction.connection.first(readPendingTask, .integer(sequence)) { row in
            (
                queue: row.integer(0), priority: row.integer(1), attempt: row.integer(2), forgiven: row.integer(3),
                marks: Marks(rawValue: row.integer(4))
            )
        }
        guard let pending, let account = try transaction.account(id: pending.queue) else {
            return try locate(sequence, in: transaction)
        }
        return LineEntry(
            sequence: sequence, account: account, state: .pending, priority: pending.priority,
            attempt: pending.attempt, forgiven: pending.forgiven, marks: pending.marks)
    }

    static func prefetchLeased(_ sequence: Int64, _ connection: Connection) throws {
        try connection.prefetch(readLease, .integer(sequence))
    }

    /// Those of these messages that workers hold. A row that names a queue which is not there is left out.
    static func leased(_ set: MessageSet, in transaction: Transaction) throws -> [Int64: LineEntry] {
        let rows = try transaction.connection.all(selectLeases, on: set) { ($0.integer(0), LeasedRow($0, from: 1)) }
        var entries: [Int64: LineEntry] = [:]
        for (sequence, row) in rows {
            entries[sequence] = try transaction.account(id: row.queueID).map { row.entry(of: sequence, $0) }
        }
        return entries
    }

    /// Message `sequence`, if a worker holds it.
    static func leased(_ sequence: Int64, in transaction: Transaction) throws -> LineEntry? {
        let row = try transaction.connection.first(readLease, .integer(sequence)) { LeasedRow($0, from: 0) }
        guard let row else { return nil }
        guard let account = try transaction.account(id: row.queueID) else {
            try Quarantine.setAside(
                .lease, sequence, of: row.queueID, because: Quarantine.Reason.noQueue, in: transaction)
            return nil
        }
        return row.entry(of: sequence, account)
    }

    /// A row of `penstock_lease`.
    private struct LeasedRow {
        static let columns = "queue_id, token, worker_id, claimed_at, priority, attempt, forgiven, marks"

        let queueID: Int64
        private let lease: LineEntry.HeldLease
        private let priority: Int64
        private let attempt: Int64
        private let forgiven: Int64
        private let marks: Marks

        init(_ row: PreparedStatement, from index: Int) {
            queueID = row.integer(index)
            lease = LineEntry.HeldLease(
                token: row.integer(index + 1), workerID: row.integer(index + 2), claimedAt: row.integer(index + 3))
            priority = row.integer(index + 4)
            attempt = row.integer(index + 5)
            forgiven = row.integer(index + 6)
            marks = Marks(rawValue: row.integer(index + 7))
        }

        func entry(of sequence: Int64, _ account: QueueAccount) -> LineEntry {
            LineEntry(
                sequence: sequence, account: account, state: .leased, priority: priority, attempt: attempt,
                forgiven: forgiven, marks: marks, lease: lease)
        }
    }

    /// What has a row in a table of the line; `nil`: the row says the state.
    private static let selectPlaces: [(state: MessageState?, query: MessageSetQuery)] = [
        (.blocked, selecting("blocked")), (.pending, selecting("pending")),
        (nil, selecting("outcome", "place.attempt, 0, 0, place.state, place.reason, \(isPlain)")),
        (.scheduled, selecting("scheduled", on: "")),
        (
            .ready,
            selecting(
                "ready", on: "place.queue_id = ?3 AND place.priority = log.priority AND place.turn = log.turn AND ")
        ),
    ]

    private static let isPlain = """
        CASE WHEN log.unique_key IS NULL AND log.group_key IS NULL
            AND (SELECT task.sequence FROM penstock_task AS task WHERE task.sequence = log.sequence) IS NULL THEN 1 ELSE 0 END
        """

    private static func selecting(
        _ table: String, _ columns: String = "place.attempt, place.forgiven, place.marks, NULL, NULL, 0",
        on key: String = "place.queue_id = ?3 AND "
    ) -> MessageSetQuery {
        MessageSetQuery { isOfSet in
            """
            SELECT log.sequence, log.priority, \(columns) FROM penstock_log AS log CROSS JOIN penstock_\(table) AS place
                ON \(key)place.sequence = log.sequence
            WHERE log.queue_id + 0 = ?3 AND log.sequence \(isOfSet)
            """
        }
    }

    private static let selectLeases = MessageSetQuery { isOfSet in
        "SELECT sequence, \(LeasedRow.columns) FROM penstock_lease WHERE sequence \(isOfSet)"
    }
    private static let readLease = Query("SELECT \(LeasedRow.columns) FROM penstock_lease WHERE sequence = ?1")
    private static let readLog = Query("SELECT queue_id, priority, turn FROM penstock_log WHERE sequence = ?1")
    private static let readTimes = Query(
        """
        SELECT log.enqueued_at, scheduled.due_at FROM penstock_log AS log
        LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence WHERE log.sequence = ?1
        """)
    private static let readReady = Query(
        """
        SELECT attempt, forgiven, marks FROM penstock_ready
        WHERE queue_id = ?1 AND priority = ?2 AND turn = ?4 AND sequence = ?3
        """)
    private static let readScheduled = Query(
        "SELECT attempt, forgiven, marks FROM penstock_scheduled WHERE sequence = ?1")
    private static let readOutcome = Query(
        "SELECT attempt, state, reason FROM penstock_outcome WHERE queue_id = ?1 AND sequence = ?2")
    private static let readPending = Query(
        "SELECT attempt, forgiven, marks FROM penstock_pending WHERE queue_id = ?1 AND sequence = ?2")
    private static let readPendingTask = Query(
        """
        SELECT pending.queue_id, pending.priority, pending.attempt, pending.forgiven, pending.marks
        FROM penstock_log AS log CROSS JOIN penstock_pending AS pending
            ON pending.queue_id = log.queue_id AND pending.sequence = log.sequence
        WHERE log.sequence = ?1
        """)
    private static let readBlocked = Query(
        "SELECT attempt, forgiven, marks FROM penstock_blocked WHERE queue_id = ?1 AND sequence = ?2")
}
