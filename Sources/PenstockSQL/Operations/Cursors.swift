import PenstockCore

/// Named places in the queues' logs.
enum Cursors {
    /// Carries out one call of ``MessageStore/moveCursor(_:of:_:)``.
    static func perform(
        _ move: CursorMove, _ name: CursorName, of queue: QueueName, in transaction: Transaction
    ) throws -> CursorRecord? {
        let account = try transaction.account(of: queue)
        try account.refuseArriving(in: transaction)
        let known = try find(name, of: account.name, id: account.id, transaction.connection)
        switch move {
        case .place(let sequence, let note):
            if let known { return known }
            return try place(name, account, after: sequence, note, in: transaction)
        case .advance(let sequence, let missed):
            guard var cursor = known else {
                throw PenstockError(
                    .unknownCursor, "The log '\(queue)' has no cursor '\(name)'; subscribe by that name again.")
            }
            try refuseAhead(sequence, in: transaction)
            // Somebody else has had what is behind it, or has given it up and counted it.
            if sequence <= cursor.sequence { return cursor }
            cursor.sequence = sequence
            cursor.missed = cursor.missed.addingClamped(missed)
            cursor.movedAt = transaction.now
            try transaction.connection.run(
                update, .integer(account.id), .text(name.text), .integer(cursor.sequence.rawValue),
                .integer(Int64(cursor.missed)), .integer(transaction.now.microseconds))
            return cursor
        case .remove:
            guard let known else { return nil }
            try transaction.connection.run(delete, .integer(account.id), .text(name.text))
            account.ring(messages: 0)
            return known
        }
    }

    private static func place(
        _ name: CursorName, _ account: QueueAccount, after sequence: SequenceNumber?, _ note: String?,
        in transaction: Transaction
    ) throws -> CursorRecord {
        if let sequence { try refuseAhead(sequence, in: transaction) }
        try requireRoom(for: name, note, account, transaction.connection)
        let place = sequence ?? SequenceNumber(transaction.lastSequence)
        try transaction.connection.run(
            insert, .integer(account.id), .text(name.text), .integer(place.rawValue), Value(note),
            .integer(transaction.now.microseconds))
        account.ring(messages: 0)
        return CursorRecord(queue: account.name, name: name, sequence: place, note: note, movedAt: transaction.now)
    }

    /// Readers keep no operator from the queue's settings, and their notes are read with each look at the queue.
    private static func requireRoom(
        for name: CursorName, _ note: String?, _ account: QueueAccount, _ connection: Connection
    ) throws {
        // How a log has ended is written down whatever readers have said, and however many there are.
        if name == .completion { return }
        let query = name.isOfSettings ? measureSettings : measureReaders
        let (count, bytes) =
            try connection.first(query, .integer(account.id)) { row in (row.integer(0), row.integer(1)) } ?? (0, 0)
        try require(
            count < Limits.cursorCountMax,
            "The log '\(account.name)' has \(count) cursors (cursorCountMax); remove one that nobody reads by.")
        guard let note, !name.isOfSettings else { return }
        try require(
            Int(bytes) + note.utf8.count <= Limits.cursorNotesBytesMax,
            "The notes of all cursors of the log '\(account.name)' have at most \(Limits.cursorNotesBytesMax) bytes (cursorNotesBytesMax), and those that are there have \(bytes); write less, or remove a cursor that nobody reads by."
        )
    }

    private static func refuseAhead(_ sequence: SequenceNumber, in transaction: Transaction) throws {
        guard sequence.rawValue <= transaction.lastSequence else {
            throw PenstockError(
                .invalidInput, "The log has not come to message \(sequence) yet, and so no cursor can be there.")
        }
    }

    static func find(
        _ name: CursorName, of queue: QueueName, id: Int64, _ connection: Connection
    ) throws -> CursorRecord? {
        try connection.first(select, .integer(id), .text(name.text)) { row in
            CursorRecord(
                queue: queue, name: name, sequence: SequenceNumber(row.integer(0)), missed: Int(row.integer(1)),
                note: row.text(2), movedAt: Timestamp(microseconds: row.integer(3)))
        }
    }

    /// Every cursor of one queue or of all, by queue and name. Of all queues a server reads them each second, and so without what was said
    /// at those of readers, which may be much more than all else.
    static func all(of queue: QueueName?, _ connection: Connection) throws -> [CursorRecord] {
        func read(_ row: PreparedStatement) -> CursorRecord {
            CursorRecord(
                queue: QueueName(stored: row.text(0) ?? ""), name: CursorName(stored: row.text(1) ?? ""),
                sequence: SequenceNumber(row.integer(2)), missed: Int(row.integer(3)), note: row.text(4),
                movedAt: Timestamp(microseconds: row.integer(5)))
        }
        guard let queue else { return try connection.all(selectAll, read: read) }
        return try connection.all(selectOfQueue, .text(queue.text), read: read)
    }

    /// Whether a log is read by the cursor of that name, in SQL: it is not by those of ``CursorName/isOfSettings``, which stay where
    /// they were placed.
    static func isOfReader(name: String) -> String {
        let prefix = CursorName.settingsPrefix
        return "substr(\(name), 1, \(prefix.utf8.count)) <> '\(prefix)'"
    }

    /// Counts, for each cursor of a queue by which its log is read, those of `forgotten` that it had not gone past. They are in order.
    static func count(forgotten: [Int64], _ account: QueueAccount, in transaction: Transaction) throws {
        guard let last = forgotten.last else { return }
        let behind = try transaction.connection.all(selectBehind, .integer(account.id), .integer(last)) { row in
            (name: row.text(0) ?? "", sequence: row.integer(1))
        }
        for cursor in behind {
            let missed = forgotten.count { $0 > cursor.sequence }
            try transaction.connection.run(
                addMissed, .integer(account.id), .text(cursor.name), .integer(Int64(missed)))
        }
    }

    private static let select = Query(
        "SELECT sequence, missed, note, moved_at FROM penstock_cursor WHERE queue_id = ?1 AND name = ?2")
    private static let selectAll = Query(
        """
        \(selection(note: "CASE WHEN \(isOfReader(name: "cursor.name")) THEN NULL ELSE cursor.note END"))
        ORDER BY queue.name, cursor.name
        """)
    private static let selectOfQueue = Query(
        "\(selection(note: "cursor.note")) WHERE queue.name = ?1 ORDER BY cursor.name")
    private static func selection(note: String) -> String {
        """
        SELECT queue.name, cursor.name, cursor.sequence, cursor.missed, \(note), cursor.moved_at
        FROM penstock_cursor AS cursor JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
        """
    }
    private static let selectBehind = Query(
        """
        SELECT name, sequence FROM penstock_cursor WHERE queue_id = ?1 AND sequence < ?2 AND \(isOfReader(name: "name"))
        """)
    private static let measureReaders = Query("\(measure) AND \(isOfReader(name: "name"))")
    private static let measureSettings = Query("\(measure) AND NOT \(isOfReader(name: "name"))")
    private static let measure = """
        SELECT count(*), coalesce(sum(length(CAST(note AS BLOB))), 0) FROM penstock_cursor WHERE queue_id = ?1
        """
    private static let insert = Query(
        "INSERT INTO penstock_cursor (queue_id, name, sequence, note, moved_at) VALUES (?1, ?2, ?3, ?4, ?5)")
    private static let update = Query(
        """
        UPDATE penstock_cursor SET sequence = ?3, missed = ?4, moved_at = ?5 WHERE queue_id = ?1 AND name = ?2
        """)
    private static let addMissed = Query(
        "UPDATE penstock_cursor SET missed = missed + min(?3, 9223372036854775807 - missed) WHERE queue_id = ?1 AND name = ?2"
    )
    private static let delete = Query("DELETE FROM penstock_cursor WHERE queue_id = ?1 AND name = ?2")
}
