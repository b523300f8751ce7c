import PenstockCore

/// What a move does in the store that is left: it closes it, in steps that are rows of the store, and opens it again when it is cancelled.
///
///     open -> draining -> copying -> moved        each of them -> open, when the move is cancelled
///
/// From `copying` on no row of a message changes, so the copy reads it in any number of snapshots.
enum Leaving {
    /// What a step has come to.
    enum Step: Sendable {
        /// Workers have so many messages. Where they are not waited for nothing has begun.
        case mustWait(leased: Int64)
        /// Nothing changes from here on.
        case isClosed(moveID: String)
        /// The move was finished before.
        case isMoved(moveID: String)
    }

    /// Closes the store, or goes on with closing it.
    static func close(
        _ copy: StoreCopy, targetID: StoreID, mayWait: Bool, in transaction: Transaction
    ) throws -> Step {
        let connection = transaction.connection
        if let departure = transaction.departure {
            guard departure.targetID == targetID else { throw departure.refusal }
            if departure.phase == .moved { return .isMoved(moveID: departure.moveID) }
            if departure.phase == .copying { return .isClosed(moveID: departure.moveID) }
        }
        if let name = try connection.first(selectHalf, read: { $0.text(0) ?? "" }) {
            throw PenstockError(
                .queueDeleting,
                "The queue '\(name)' of \(copy.source) is being deleted, or copied there; finish that before it is copied."
            )
        }
        let leased = try connection.first(countLeases, read: { $0.integer(0) }) ?? 0
        if leased > 0, !mayWait { return .mustWait(leased: leased) }
        var moveID = transaction.departure?.moveID
        if moveID == nil {
            let new = StoreID(random: transaction.random).rawValue
            moveID = new
            try connection.run(
                begin, .text(new), .text(copy.target), .text(targetID.rawValue), .text(copy.source),
                .integer(transaction.now.microseconds))
        }
        try setPhase(leased > 0 ? .draining : .copying, in: transaction)
        return leased > 0 ? .mustWait(leased: leased) : .isClosed(moveID: moveID ?? "")
    }

    /// Says that the target has all of it.
    static func finish(_ moveID: String, in transaction: Transaction) throws {
        guard let departure = transaction.departure, departure.moveID == moveID else {
            throw PenstockError(
                .illegalTransition,
                "The move was cancelled at its end, and both stores have the messages; delete the queues of one of them."
            )
        }
        try setPhase(.moved, in: transaction)
    }

    /// Opens the store again.
    ///
    /// - Returns: the move that was cancelled; `nil`: none had begun.
    static func open(in transaction: Transaction) throws -> Departure? {
        guard let departure = transaction.departure else { return nil }
        try transaction.connection.run(setOpen)
        try transaction.connection.run(end)
        for name in try transaction.connection.all(selectNames, read: { QueueName(stored: $0.text(0) ?? "") }) {
            transaction.ringAll(name)
        }
        return departure
    }

    private static func setPhase(_ phase: StoreMove.Phase, in transaction: Transaction) throws {
        try transaction.connection.run(writePhase, .text(phase.rawValue))
        // Whoever sleeps until there is work, or room, learns of it at once.
        for name in try transaction.connection.all(selectNames, read: { QueueName(stored: $0.text(0) ?? "") }) {
            transaction.ringAll(name)
        }
    }

    private static let selectHalf = Query("SELECT name FROM penstock_queue WHERE deleting <> 0 ORDER BY name LIMIT 1")
    private static let countLeases = Query("SELECT count(*) FROM penstock_lease")
    private static let begin = Query(
        """
        UPDATE penstock_store SET move_id = ?1, moved_to = ?2, moved_to_id = ?3, moved_from = ?4, moving_since = ?5
        WHERE id = 1
        """)
    private static let end = Query(
        """
        UPDATE penstock_store SET move_id = NULL, moved_to = NULL, moved_to_id = NULL, moved_from = NULL,
            moving_since = NULL WHERE id = 1
        """)
    private static let writePhase = Query("UPDATE penstock_state SET moving = ?1 WHERE id = 1")
    private static let setOpen = Query("UPDATE penstock_state SET moving = NULL WHERE id = 1")
    private static let selectNames = Query("SELECT name FROM penstock_queue")
}
