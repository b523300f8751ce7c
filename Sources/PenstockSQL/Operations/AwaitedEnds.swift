import PenstockCore

/// Messages whose ends a process waits for: each has a mark, and the transaction that ends it rings for the queue's log.
///
/// The mark stays until the message ends: a process that waits no longer, or has died, does not remove it. The ring then wakes tasks
/// that wait for other ends in the queue, and each of them looks once for nothing.
enum AwaitedEnds {
    /// Has the end of message `sequence` rung for, unless it has ended. It ends here if it has expired.
    ///
    /// - Returns: where it is now.
    /// - Throws: `unknownMessage`.
    static func expect(_ sequence: SequenceNumber, in transaction: Transaction) throws -> MessageState {
        let connection = transaction.connection
        guard let entry = try Line.locate(sequence.rawValue, in: transaction) else {
            throw PenstockError.unknown(sequence)
        }
        // What has come of a copy stays as it is; a task that waits for it looks from time to time.
        if try entry.account.isArriving(in: transaction) { return entry.state }
        if try Expiring.endIfExpired(entry, in: transaction) {
            return try Line.locate(sequence.rawValue, in: transaction)?.state ?? entry.state
        }
        if entry.marks.contains(.endAwaited) { return entry.state }
        let (queue, mark) = (Value.integer(entry.account.id), Value.integer(Marks.endAwaited.rawValue))
        switch entry.state {
        case .pending: try connection.run(markPending, .integer(entry.sequence), mark, queue)
        case .blocked: try connection.run(markBlocked, .integer(entry.sequence), mark, queue)
        case .scheduled: try connection.run(markScheduled, .integer(entry.sequence), mark)
        case .ready:
            let turn = try Turns.turn(of: entry.sequence, entry.account, connection)
            try connection.run(
                markReady, .integer(entry.sequence), mark, queue, .integer(entry.priority), .integer(turn))
        case .leased: try connection.run(markLeased, .integer(entry.sequence), mark)
        case .done, .dead, .dropped, .cancelled: break
        }
        return entry.state
    }

    private static let markPending = Query(
        "UPDATE penstock_pending SET marks = marks | ?2 WHERE queue_id = ?3 AND sequence = ?1")
    private static let markBlocked = Query(
        "UPDATE penstock_blocked SET marks = marks | ?2 WHERE queue_id = ?3 AND sequence = ?1")
    private static let markScheduled = Query("UPDATE penstock_scheduled SET marks = marks | ?2 WHERE sequence = ?1")
    private static let markReady = Query(
        """
        UPDATE penstock_ready SET marks = marks | ?2
        WHERE queue_id = ?3 AND priority = ?4 AND turn = ?5 AND sequence = ?1
        """)
    private static let markLeased = Query("UPDATE penstock_lease SET marks = marks | ?2 WHERE sequence = ?1")
}
