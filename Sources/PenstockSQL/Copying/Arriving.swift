import PenstockCore

/// What a move does in the store to which queues go. The row of the move says how far it has come, and is written in the
/// transaction that writes the rows: so nothing comes twice, and nothing is left out, whatever dies when.
///
/// Until all is there the queues take and give nothing. They open in one transaction, with what the workflows have left to do.
enum Arriving {
    /// A move as its target knows it.
    struct Arrival: Sendable {
        var moveID: String
        var withLog: Bool
        var sequenceOffset: Int64
        var place: CopyBatch.Place
        var isFinished: Bool

        /// Whether nothing more comes: a queue of it was deleted, or somebody has given it up.
        var isBrokenOff: Bool { place.position < 0 }
    }

    static func find(_ moveID: String, _ connection: Connection) throws -> Arrival? {
        try connection.first(selectArrival, .text(moveID), read: Arrival.init)
    }

    /// Moves from a store that came to no end, and are not `moveID`: they were cancelled there.
    static func abandoned(from sourceID: StoreID, besides moveID: String?, _ connection: Connection) throws -> [String]
    {
        try connection.all(selectAbandoned, .text(sourceID.rawValue), .text(moveID ?? "")) { $0.text(0) ?? "" }
    }

    /// Throws `queueExists` when a move came to no end whose store has the id of this one, and another name: that store may go on with it, as the
    /// file of one of them was made by copying the other's. What it has brought is not this one's to remove.
    static func refuseOthers(
        _ copy: StoreCopy, from sourceID: StoreID, besides moveID: String?, _ connection: Connection
    ) throws {
        let other = try connection.first(
            selectOther, .text(sourceID.rawValue), .text(moveID ?? ""), .text(copy.source), read: { $0.text(0) ?? "" })
        guard let other else { return }
        throw PenstockError(
            .queueExists,
            "\(copy.target) has queues of an unfinished copy of \(other), and \(copy.source) is that store by another name, or one of them "
                + "is a copy of the other's file; finish that copy, or remove what has come with "
                + "`\(StoreCopy.cancellation(of: copy.source))` and `--to`.")
    }

    static func queues(of moveID: String, _ connection: Connection) throws -> [QueueName] {
        try connection.all(selectQueues, .text(moveID)) { QueueName(stored: $0.text(0) ?? "") }
    }

    /// Makes the queues, and has the sequence numbers of the source kept free for it.
    static func begin(
        _ moveID: String, from sourceID: StoreID, _ copy: StoreCopy, _ settings: QueueSettings,
        in transaction: Transaction
    ) throws -> Arrival {
        try settings.names.refuseClashes(copy.target, transaction.connection)
        // In a new store each message has the number that it had: a producer finds it by its receipt.
        let offset = transaction.lastSequence
        let (last, isTooLarge) = offset.addingReportingOverflow(settings.lastSequence)
        guard offset >= 0, settings.lastSequence >= 0, !isTooLarge, last <= SequenceJump.lastMax else {
            throw PenstockError(
                .corrupt,
                "The last sequence number of \(copy.source) is \(settings.lastSequence), which cannot be; run `penstock doctor "
                    + "--repair` there.")
        }
        let ids = try settings.make(in: transaction)
        for (source, target) in ids.sorted(by: { $0.key < $1.key }) {
            try transaction.connection.run(insertQueue, .integer(target), .text(moveID), .integer(source))
        }
        try transaction.connection.run(
            insertArrival, .text(moveID), .text(sourceID.rawValue), .text(copy.source), .integer(offset),
            .integer(last),
            .integer(copy.withLog ? 1 : 0), .integer(transaction.now.microseconds))
        transaction.reserveSequences(upTo: last)
        try transaction.queuesChanged()
        return Arrival(
            moveID: moveID, withLog: copy.withLog, sequenceOffset: offset, place: CopyBatch.Place(), isFinished: false)
    }

    /// Writes the rows of a batch, if the move has come just so far.
    static func take(_ batch: CopyBatch, of moveID: String, in transaction: Transaction) throws {
        let place = try self.place(of: moveID, at: batch.from, in: transaction)
        // Before anything is written: a refusal undoes nothing.
        let parts = try batch.parts.map { part in
            (part.table, try ArrivingNames.named(part.rows, of: part.table, place, transaction.connection))
        }
        for (table, rows) in parts {
            try table.write(rows, place, transaction.connection)
            guard let state = MessageState(rawValue: table.name) ?? (table.name == "outcome" ? .done : nil) else {
                continue
            }
            for row in rows { try count(row, of: table, state, place, in: transaction) }
        }
        try write(batch.upTo, of: moveID, in: transaction)
    }

    /// What comes with the opening of the queues.
    struct Opening: Sendable {
        /// Of the source, for the limits.
        var settings: QueueSettings
        /// What the workflows have left to do.
        var cascade: [[CopiedValue]]

        init(_ connection: Connection) throws {
            settings = try QueueSettings(connection)
            cascade = try connection.all(CopiedTable.cascade.selection, .integer(.max), 0) {
                try CopiedTable.cascade.row($0)
            }
        }
    }

    /// Notes once more that the move has come just so far: the flush of this row is one of all rows before it. What would be in the way of
    /// the opening is said while the source can still be opened without the target.
    static func requireAll(
        _ moveID: String, at place: CopyBatch.Place, _ opening: Opening, _ target: String, in transaction: Transaction
    ) throws {
        _ = try self.place(of: moveID, at: place, in: transaction)
        try opening.settings.names.refuseLimits(target, transaction.connection)
        try write(place, of: moveID, in: transaction)
    }

    static func finish(
        _ moveID: String, at place: CopyBatch.Place, _ opening: Opening, _ target: String, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        let names = try queues(of: moveID, connection)
        let here = try self.place(of: moveID, at: place, in: transaction)
        try opening.settings.share(as: here.queues, target, in: transaction)
        try CopiedTable.cascade.write(opening.cascade, here, connection)
        try connection.run(openQueues, .text(moveID))
        try connection.run(deleteQueues, .text(moveID))
        try connection.run(finishArrival, .text(moveID), .integer(transaction.now.microseconds))
        try transaction.queuesChanged()
        for name in names { transaction.ringAll(name) }
    }

    /// Says that nothing more comes of a move: a copy that is under way ends, and does not open its queues while they are removed.
    ///
    /// - Throws: `illegalTransition` when they are open, as the move was finished meanwhile.
    static func giveUp(_ moveID: String, in transaction: Transaction) throws {
        try transaction.connection.run(giveUp, .text(moveID))
        if try find(moveID, transaction.connection)?.isFinished == true { throw finished }
    }

    static let finished = PenstockError(
        .illegalTransition,
        "The queues are all there and open by now; delete them there, and cancel it again.")

    /// What is said of a move that has no end: ``Arrival/isBrokenOff``.
    static let brokenOff = PenstockError(
        .unknownQueue,
        "A queue of this move was deleted where it was to go, or the move was being given up; give it up with `penstock copy "
            + "--cancel` and `--to`, and begin it again.")

    /// What an error of the target means to people. To repair the target would not help where it contradicts what comes, as a repair
    /// leaves queues that arrive as they are.
    static func translated(_ error: any Error, _ copy: StoreCopy) -> any Error {
        guard var error = error as? PenstockError else { return error }
        guard let contradiction = error.contradiction else {
            if error.mayPass {
                error.tell(
                    "What has come stays, and \(copy.source) is closed until the same copy is run again, or given up with "
                        + "`\(StoreCopy.cancellation(of: copy.source))` and `--to`.")
            }
            return error
        }
        return PenstockError(
            .corrupt,
            "What comes from \(copy.source) contradicts what \(copy.target) has (\(contradiction)); give the copy up with "
                + "`\(StoreCopy.cancellation(of: copy.source))` and `--to`, look at both stores with `penstock doctor`, and begin it "
                + "again.", cause: error.cause)
    }

    /// Forgets a move whose queues are gone.
    static func forget(_ moveID: String, in transaction: Transaction) throws {
        try transaction.connection.run(deleteArrival, .text(moveID))
    }

    /// Adds a message to its queue's depths.
    private static func count(
        _ row: [CopiedValue], of table: CopiedTable, _ state: MessageState, _ place: CopyPlace,
        in transaction: Transaction
    ) throws {
        var (state, queue): (MessageState, Int64?) = (state, nil)
        for (column, value) in zip(table.columns, row) {
            if column.kind == .queue, case .integer(let id) = value { queue = place.queues[id] }
            if column.name == "state", case .text(let text) = value { state = MessageState(rawValue: text) ?? state }
        }
        guard let queue, let account = try transaction.account(id: queue) else { return }
        account.change.count(state, 1)
    }

    /// Where the rows go.
    ///
    /// - Throws: `busy` when the move has not come just so far: another process goes on with it. `unknownQueue` when a queue of it was
    ///   deleted.
    private static func place(
        of moveID: String, at place: CopyBatch.Place, in transaction: Transaction
    ) throws -> CopyPlace {
        let connection = transaction.connection
        let arrival = try find(moveID, connection)
        if let arrival, arrival.isBrokenOff { throw brokenOff }
        guard let arrival, !arrival.isFinished, arrival.place == place else {
            throw PenstockError(
                .busy, "Another `penstock copy` goes on with this move, or has ended it; let one of them do it.")
        }
        let queues = try connection.all(selectPlaces, .text(moveID)) { ($0.integer(0), $0.integer(1)) }
        return CopyPlace(
            sequenceOffset: arrival.sequenceOffset,
            queues: Dictionary(queues, uniquingKeysWith: { first, _ in first }))
    }

    private static func write(_ place: CopyBatch.Place, of moveID: String, in transaction: Transaction) throws {
        try transaction.connection.run(writePlace, .text(moveID), .integer(place.stage), .integer(place.position))
    }

    private static let selectArrival = Query(
        """
        SELECT move_id, with_log, sequence_offset, stage, place, finished_at IS NOT NULL
        FROM penstock_arrival WHERE move_id = ?1
        """)
    private static let selectAbandoned = Query(
        "SELECT move_id FROM penstock_arrival WHERE source_id = ?1 AND move_id <> ?2 AND finished_at IS NULL")
    private static let selectOther = Query(
        """
        SELECT source FROM penstock_arrival
        WHERE source_id = ?1 AND move_id <> ?2 AND source <> ?3 AND finished_at IS NULL ORDER BY move_id LIMIT 1
        """)
    private static let selectQueues = Query(
        """
        SELECT queue.name FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
        WHERE arriving.move_id = ?1 ORDER BY queue.name
        """)
    private static let selectPlaces = Query(
        "SELECT source_queue_id, queue_id FROM penstock_arriving WHERE move_id = ?1")
    private static let insertQueue = Query(
        "INSERT INTO penstock_arriving (queue_id, move_id, source_queue_id) VALUES (?1, ?2, ?3)")
    private static let insertArrival = Query(
        """
        INSERT INTO penstock_arrival (move_id, source_id, source, sequence_offset, first_sequence, last_sequence, with_log, stage,
            place, begun_at)
        VALUES (?1, ?2, ?3, ?4, ?4 + 1, ?5, ?6, 0, 0, ?7)
        """)
    private static let writePlace = Query("UPDATE penstock_arrival SET stage = ?2, place = ?3 WHERE move_id = ?1")
    private static let openQueues = Query(
        """
        UPDATE penstock_queue SET deleting = 0
        WHERE id IN (SELECT queue_id FROM penstock_arriving WHERE move_id = ?1)
        """)
    private static let deleteQueues = Query("DELETE FROM penstock_arriving WHERE move_id = ?1")
    private static let giveUp = Query(
        "UPDATE penstock_arrival SET place = -1 WHERE move_id = ?1 AND finished_at IS NULL")
    private static let finishArrival = Query("UPDATE penstock_arrival SET finished_at = ?2 WHERE move_id = ?1")
    private static let deleteArrival = Query("DELETE FROM penstock_arrival WHERE move_id = ?1")
}

extension Arriving.Arrival {
    init(_ row: PreparedStatement) {
        self.init(
            moveID: row.text(0) ?? "", withLog: row.integer(1) != 0, sequenceOffset: row.integer(2),
            place: CopyBatch.Place(stage: row.integer(3), position: row.integer(4)), isFinished: row.integer(5) != 0)
    }
}
