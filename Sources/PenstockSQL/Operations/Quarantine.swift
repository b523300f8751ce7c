import PenstockCore

/// Setting rows aside that contradict the rest of the file, within the transaction that met them: each costs its own
/// message, and the queue goes on.
package enum Quarantine {
    /// Sets aside the row of message `sequence` in one table of the line. The queue's depths are counted anew.
    ///
    /// - Parameter queueID: the queue that the row names, which need not exist.
    package static func setAside(
        _ source: QuarantineSource, _ sequence: Int64, of queueID: Int64, because reason: String,
        in transaction: Transaction
    ) throws {
        for (table, copy, delete) in statements where table == source {
            try transaction.connection.run(
                copy, .integer(sequence), .integer(queueID), .integer(transaction.now.microseconds), .text(reason))
            try transaction.connection.run(delete, .integer(sequence), .integer(queueID))
        }
        // What comes of it is left to the next claim, as the log may not have the message any more.
        try transaction.connection.run(noteGroup, .integer(sequence), .integer(queueID))
        let isNoted = try transaction.connection.changesCount() > 0
        if source == .lease {
            try CancelRequests.end(sequence, transaction.connection)
            try ProgressRows.end(sequence, transaction.connection)
        }
        let account = try transaction.account(id: queueID)
        transaction.setAside.append(
            SetAsideRow(sequence: SequenceNumber(sequence), queue: account?.name, reason: reason))
        account?.mustRecount()
        if isNoted { account?.ring(messages: 1) }
    }

    /// Sets aside every row of message `sequence` that is in line while the log does not have the message.
    ///
    /// Ready rows and outcomes lie by queue, and so this looks through all of them. It is for messages that nobody finds.
    ///
    /// - Returns: whether there was one.
    package static func setAsideOrphans(_ sequence: Int64, in transaction: Transaction) throws -> Bool {
        let found = try orphans(sequence, in: transaction)
        for (source, queueID) in found {
            try setAside(source, sequence, of: queueID, because: Reason.notInLog, in: transaction)
        }
        return !found.isEmpty
    }

    /// Whether message `sequence`, which has no place in the line as the log sees it, is in the log or in line all the same.
    package static func isContradictory(_ sequence: Int64, in transaction: Transaction) throws -> Bool {
        try isInLog(sequence, transaction.connection) || !orphans(sequence, in: transaction).isEmpty
    }

    package static func isInLog(_ sequence: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(inLog, .integer(sequence))
    }

    private static func orphans(
        _ sequence: Int64, in transaction: Transaction
    ) throws -> [(QuarantineSource, queueID: Int64)] {
        if try isInLog(sequence, transaction.connection) { return [] }
        return try transaction.connection.all(selectOrphans, .integer(sequence)) { row in
            (row.text(0).flatMap(QuarantineSource.init) ?? .ready, row.integer(1))
        }
    }

    /// Why a row was set aside, for people.
    package enum Reason {
        package static let headers = "The headers are not a JSON object of strings."
        package static let headerRules = "The headers break the rules for their names, zero bytes or size."
        package static let time = "The time is one that no clock can have shown."
        package static let notInLog =
            "The message is in line and not in the log, or there with another queue, priority or turn."
        package static let attempt = "The number of attempts is one that no program can have counted."
        package static let sequence = "The sequence number is one that no program can have given."
        package static let leased = "The message is ready, and a worker has it."
        package static let noQueue = "The queue does not exist."
        package static let inTheWay = "The message had come to another place, and moved to this one."
    }

    /// For each table what copies a row, and what deletes it.
    private static let statements = QuarantineSource.allCases.map { source in
        let condition = "sequence = ?1 AND queue_id = ?2"
        return (
            table: source, copy: Query(source.copy(where: condition, now: "?3", reason: "?4")),
            delete: Query(source.delete(where: condition))
        )
    }
    private static let noteGroup = Query(
        """
        INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE sequence = ?1 AND queue_id = ?2
        """)
    private static let inLog = Query("SELECT 1 FROM penstock_log WHERE sequence = ?1")
    private static let selectOrphans = Query(
        (QuarantineSource.line + [.outcome]).map { source in
            "SELECT '\(source.rawValue)', queue_id FROM \(source.table) WHERE sequence = ?1"
        }.joined(separator: " UNION ALL "))
}
