import PenstockCore
import PenstockSQL

/// Verdicts that were said in SQL, by `penstock_done` and its kin, in transactions of applications.
///
/// They are committed, and the process that writes next carries them out, before anything else: so no process finds a message leased whose
/// verdict was said, and what follows from a verdict is the same as of a worker's own.
enum SaidVerdicts {
    /// Says that ``areOpen(_:)`` is about to be asked.
    static func prefetch(_ connection: PostgresConnection) throws { try connection.prefetch(readOpen) }

    /// Whether there are some to be carried out.
    ///
    /// - Throws: as ``ServerConnection/note(table:)``: each transaction begins with this question.
    static func areOpen(_ connection: PostgresConnection) throws -> Bool {
        guard let found = try connection.first(readOpen, read: { (areOpen: $0.integer(0) != 0, table: $0.integer(1)) })
        else { return false }
        try connection.server.note(table: found.table)
        return found.areOpen
    }

    /// Carries out all that are open, and removes some that nobody asks for any more. To be called where ``areOpen(_:)`` says that there are some.
    static func carryOut(_ connection: PostgresConnection, in transaction: Transaction) throws {
        let said = try connection.all(selectOpen, read: Said.init)
        try connection.guarded {
            do {
                try carryOut(said, in: transaction)
            } catch  where !mustEnd(error) {
                // One of them contradicts what is there. Alone, each costs only itself.
                for one in said { try carryOutAlone(one, in: transaction) }
            }
        }
        try connection.leftVerdicts.carriedOut(said.count, connection)
    }

    private static func carryOut(_ said: [Said], in transaction: Transaction) throws {
        try transaction.nested {
            let results = try Settling.perform(said.map { $0.settlement(now: transaction.now) }, in: transaction)
            for (one, result) in zip(said, results) {
                // A lease that somebody has removed by hand.
                guard case .settled(let state) = result else { try forget(one, in: transaction); continue }
                try transaction.connection.run(
                    writeState, .integer(one.lease.sequence.rawValue), .integer(one.lease.token.rawValue),
                    .text(state.rawValue))
            }
        }
    }

    private static func carryOutAlone(_ one: Said, in transaction: Transaction) throws {
        do {
            try carryOut([one], in: transaction)
        } catch  where !mustEnd(error) {
            // All that write to the store would stop at it.
            try transaction.connection.run(
                setAside, .integer(one.lease.sequence.rawValue), .integer(one.lease.token.rawValue),
                .integer(transaction.now.microseconds), .text("The verdict cannot be carried out: \(error)"))
            try forget(one, in: transaction)
        }
    }

    private static func forget(_ one: Said, in transaction: Transaction) throws {
        try transaction.connection.run(
            delete, .integer(one.lease.sequence.rawValue), .integer(one.lease.token.rawValue))
    }

    /// Whether an error is about the transaction, or the way to the server, and not about a verdict.
    private static func mustEnd(_ error: any Error) -> Bool { (error as? ServerError)?.isInTheWay == true }

    /// What a lease was left in whose verdict was said in SQL. Asked for by its worker, which settles when its handler ends, and then
    /// knows: the row goes.
    static func result(of lease: Lease, _ connection: Connection, isLast: Bool) throws -> SettleResult? {
        let (sequence, token) = (lease.sequence.rawValue, lease.token.rawValue)
        let state = try connection.first(readState, .integer(sequence), .integer(token)) { $0.text(0) } ?? nil
        guard let state = state.flatMap(MessageState.init) else { return nil }
        if isLast { try connection.run(delete, .integer(sequence), .integer(token)) }
        return .settled(state)
    }

    /// A row of `penstock_verdict`.
    private struct Said {
        let lease: Lease
        private let verdict: String
        private let error: String
        private let delay: Int64?
        private let result: [UInt8]?
        private let at: Int64

        init(_ row: PreparedStatement) throws {
            lease = Lease(
                sequence: SequenceNumber(row.integer(0)), token: LeaseToken(rawValue: row.integer(1)))
            verdict = row.text(2) ?? ""
            error = row.text(3) ?? ""
            delay = row.optionalInteger(4)
            result = row.isNull(5) ? nil : try row.bytes(5)
            at = row.integer(6)
        }

        func settlement(now: Timestamp) -> Settlement {
            switch verdict {
            case "done": return Settlement(lease, .done, result: result)
            case "reject": return Settlement(lease, .dead(error: error))
            case "release": return Settlement(lease, .release)
            default:
                // It counts from when it was said.
                let left = delay.map { Duration.microseconds(max(0, at + $0 - now.microseconds)) }
                return Settlement(lease, .retry(error: error, after: left))
            }
        }
    }

    // A transaction that has read a table keeps it from being replaced until it ends, and a restore replaces all of them together.
    private static let readOpen = Query(
        """
        SELECT CASE WHEN EXISTS (SELECT 1 FROM penstock_verdict WHERE state IS NULL) THEN 1 ELSE 0 END,
            \(ServerConnection.tableNumber)
        """)
    // In the order of the log: neighbours that are done move together.
    private static let selectOpen = Query(
        """
        SELECT sequence, token, verdict, error, delay, result, said_at FROM penstock_verdict
        WHERE state IS NULL ORDER BY sequence
        """)
    private static let writeState = Query(
        "UPDATE penstock_verdict SET state = ?3 WHERE sequence = ?1 AND token = ?2")
    private static let readState = Query("SELECT state FROM penstock_verdict WHERE sequence = ?1 AND token = ?2")
    private static let delete = Query("DELETE FROM penstock_verdict WHERE sequence = ?1 AND token = ?2")
    private static let setAside = Query(
        """
        INSERT INTO penstock_quarantine (set_aside_at, reason, source, sequence, queue_id, columns, payload)
        SELECT ?3, ?4, 'penstock_verdict', said.sequence, lease.queue_id, json_object('sequence', said.sequence,
            'token', said.token, 'verdict', said.verdict, 'error', said.error, 'delay', said.delay, 'said_at', said.said_at), NULL
        FROM penstock_verdict AS said LEFT JOIN penstock_lease AS lease ON lease.sequence = said.sequence
        WHERE said.sequence = ?1 AND said.token = ?2
        """)
}

extension PostgresConnection {
    /// Runs `body` so that each statement's failure is known at once, and that of an attempt ends the attempt alone.
    fileprivate func guarded(_ body: () throws -> Void) rethrows {
        let before = (sendsAhead, guardsAttempts)
        (sendsAhead, guardsAttempts) = (false, true)
        defer { (sendsAhead, guardsAttempts) = before }
        try body()
    }
}
