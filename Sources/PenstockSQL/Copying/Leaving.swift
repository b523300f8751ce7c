import PenstockCore

/// What a move does in the store that is left: it closes it, in steps that are rows of the store, and opens it again when it is cancelled.
///
///     open -> draining -> copying -> moved        each of them -> open, when the move is cancelled
///
/// From `moved` on the target may open at any moment. So this store is opened then by a caller that has closed it there, or says that
/// it is lost, and by no other.
///
/// From `copying` on no row of a message changes, so the copy reads it in any number of snapshots.
enum Leaving {
    /// What a step has come to.
    enum Step: Sendable {
        /// Workers have so many messages. Where the move has not begun, and they are not waited for, nothing has.
        case mustWait(leased: Int64, moveID: String?)
        /// Nothing changes from here on.
        case isClosed(moveID: String)
        /// The move was finished before.
        case isMoved(moveID: String)
    }

    /// Closes the store, or goes on with closing it.
    ///
    /// - Parameter begun: the move that the caller has begun, or has found begun; `nil`: it has not looked yet.
    static func close(
        _ copy: StoreCopy, targetID: StoreID, mayWait: Bool, begun: String?, in transaction: Transaction
    ) throws -> Step {
        let connection = transaction.connection
        if let begun, transaction.departure?.moveID != begun { throw cancelled }
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
        let leased = try connection.integer(countLeases) ?? 0
        let known = transaction.departure?.moveID
        if leased > 0, !mayWait { return .mustWait(leased: leased, moveID: known) }
        let moveID = known ?? StoreID(random: transaction.random).rawValue
        if known == nil {
            try connection.run(
                begin, .text(moveID), .text(copy.target), .text(targetID.rawValue), .text(copy.source),
                .integer(transaction.now.microseconds))
        }
        try setPhase(leased > 0 ? .draining : .copying, in: transaction)
        return leased > 0 ? .mustWait(leased: leased, moveID: moveID) : .isClosed(moveID: moveID)
    }

    /// Says that the target has all of it.
    ///
    /// - Throws: `illegalTransition` when the move was cancelled.
    static func finish(_ moveID: String, in transaction: Transaction) throws {
        guard transaction.departure?.moveID == moveID else { throw cancelled }
        try setPhase(.moved, in: transaction)
    }

    /// Throws `illegalTransition` when the store is not left by that move any more: somebody has cancelled it.
    static func requireLeft(_ moveID: String, _ connection: Connection) throws {
        guard try current(connection) == moveID else { throw cancelled }
    }

    /// The move that has begun; `nil`: none has.
    static func current(_ connection: Connection) throws -> String? {
        try connection.first(selectMove) { $0.text(0) } ?? nil
    }

    private static let cancelled = PenstockError(
        .illegalTransition,
        "The move was cancelled while it was under way. Look whether the queues are open in the store to which they went: if not, "
            + "`penstock copy --cancel` and `--to` removes what has come there; if so, delete them in one of the two stores."
    )

    /// Opens the store again, if nothing has happened but that workers were waited for.
    static func open(unlessBeyondDraining moveID: String, in transaction: Transaction) throws {
        guard let departure = transaction.departure, departure.moveID == moveID, departure.phase == .draining else {
            throw cancelled
        }
        _ = try open(closedThere: nil, in: transaction)
    }

    /// Opens the store again.
    ///
    /// - Parameters:
    ///   - closedThere: the move of which the caller knows that nothing of it is open in the target, nor will be.
    ///   - force: whether the store is opened though its queues may be open in the target.
    /// - Returns: the move that was cancelled; `nil`: none had begun.
    /// - Throws: `illegalTransition` when the queues may be open in the target.
    static func open(
        closedThere: String?, force: Bool = false, in transaction: Transaction
    ) throws -> Departure? {
        guard let departure = transaction.departure else { return nil }
        guard departure.phase != .moved || force || departure.moveID == closedThere else {
            throw PenstockError(
                .illegalTransition,
                "The queues of \(departure.move.source) have moved to \(departure.target), and may be open there; cancel it with "
                    + "`--to` and that store, which is looked at, or with `--force` where that store is lost.")
        }
        try transaction.connection.run(end)
        try setPhase(nil, in: transaction)
        return departure
    }

    /// - Parameter phase: `nil`: the store is open.
    private static func setPhase(_ phase: StoreMove.Phase?, in transaction: Transaction) throws {
        try transaction.connection.run(writePhase, Value(phase?.rawValue))
        // Whoever sleeps until there is work, or room, learns of it at once.
        for name in try queues(transaction.connection) { transaction.ringAll(name) }
    }

    static func queues(_ connection: Connection) throws -> Set<QueueName> {
        Set(try connection.all(selectNames, read: { QueueName(stored: $0.text(0) ?? "") }))
    }

    private static let selectMove = Query("SELECT move_id FROM penstock_store WHERE id = 1")
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
    private static let selectNames = Query("SELECT name FROM penstock_queue")
}
