import PenstockCore

/// A queue that is being deleted, or copied here: what it refuses, and what is said of that.
extension QueueAccount {
    /// Throws `queueDeleting` when the queue's deletion has begun: what it took now would be deleted with the rest. Or when it is copied
    /// here, and not all of it is there.
    package func refuseDeleting(in transaction: Transaction) throws {
        guard isDeleting else { return }
        try refuseArriving(in: transaction)
        if try transaction.connection.has(Self.isOfBrokenMove, .integer(id)) {
            throw PenstockError(
                .queueDeleting,
                "The queue '\(name)' was being copied here, and a queue of that move was deleted; give the copy up with `penstock copy "
                    + "--cancel`, or delete the queue with force.")
        }
        // Without force a deletion with such messages is refused.
        let force = try hasOpen(in: transaction) ? " --force" : ""
        throw PenstockError(
            .queueDeleting,
            "The queue '\(name)' is being deleted; wait until it is gone, or finish it with `penstock queue delete\(force)`."
        )
    }

    /// Whether messages wait or run. The rows are asked, as what the depths say may have been changed by hand.
    func hasOpen(in transaction: Transaction) throws -> Bool {
        try transaction.connection.integer(Self.anyOpen, .integer(id)) == 1
    }

    /// Whether the queue is copied here, and not all of it is there: nobody but the copy changes anything of it.
    package func isArriving(in transaction: Transaction) throws -> Bool {
        guard isDeleting else { return false }
        return try transaction.connection.has(Self.readSource, .integer(id))
    }

    /// Throws `queueDeleting` when the queue is copied here, and not all of it is there: what has come is compared with its source.
    package func refuseArriving(in transaction: Transaction) throws {
        guard isDeleting,
            let source = try transaction.connection.first(Self.readSource, .integer(id), read: { $0.text(0) })
        else { return }
        throw PenstockError(
            .queueDeleting,
            "The queue '\(name)' is being copied here from \(source ?? "another store"), and takes nothing before all of it is "
                + "there; run the same `penstock copy` again if none is at it.")
    }

    private static let readSource = Query(
        """
        SELECT arrival.source FROM penstock_arriving AS arriving
        LEFT JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id
        WHERE arriving.queue_id = ?1 AND coalesce(arrival.place, 0) >= 0
        """)
    private static let anyOpen = Query("SELECT \(QuarantineSource.hasOpen)")
    private static let isOfBrokenMove = Query("SELECT 1 FROM penstock_arriving WHERE queue_id = ?1")
}
