package import PenstockCore

/// What messages leave behind on their way: steps of their handlers, and what they gave.
package enum Journals {
    /// Carries out one call of ``MessageStore/record(_:result:on:extendingBy:durability:)``.
    package static func record(
        _ step: StepName, _ result: [UInt8], on lease: Lease, extendingBy duration: Duration?,
        in transaction: Transaction
    ) throws -> StepRecord {
        let connection = transaction.connection
        let sequence = lease.sequence.rawValue
        guard try Settling.isHeld(lease, connection) else {
            throw PenstockError(
                .leaseLost,
                "The lease of message \(lease.sequence) is lost, so the step '\(step)' is not recorded; leave the message to "
                    + "the worker that has it now.")
        }
        if let known = try connection.first(selectNamed, .integer(sequence), .text(step.text), read: record) {
            try Settling.extend(lease, by: duration, in: transaction)
            return known
        }
        let before = try connection.first(measure, .integer(sequence)) { row in
            (count: row.integer(0), position: row.integer(1), bytes: row.integer(2))
        }
        let (count, position, bytes) = before ?? (0, 0, 0)
        try StepRecord.validate(
            count: Int(count) + 1, bytes: Int(bytes.clamped(to: StoredRange.counts)) + result.count)
        let record = StepRecord(name: step, result: result, recordedAt: transaction.now)
        try result.withUnsafeBytes { bytes in
            try connection.run(insert) { row in
                row.bind(sequence, at: 1)
                row.bind(step.text, at: 2)
                row.bind(position.clamped(to: StoredRange.counts) + 1, at: 3)
                row.bind(uncopied: bytes, at: 4)
                row.bind(transaction.now.microseconds, at: 5)
            }
        }
        try Settling.extend(lease, by: duration, in: transaction)
        return record
    }

    /// Keeps what message `sequence` gave, in place of what it gave before it was put back in line.
    package static func keep(_ result: [UInt8], of sequence: Int64, _ connection: Connection) throws {
        try result.withUnsafeBytes { bytes in
            try connection.run(insertResult) { row in
                row.bind(sequence, at: 1)
                row.bind(uncopied: bytes, at: 2)
            }
        }
    }

    /// What message `sequence` gave.
    package static func result(of sequence: Int64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(readResult, .integer(sequence)) { try $0.bytes(0) }
    }

    /// Reads what a message has left behind.
    package static func journal(of sequence: SequenceNumber, _ connection: Connection) throws -> MessageJournal {
        try requireKnown(sequence, connection)
        return MessageJournal(
            steps: try steps(of: sequence.rawValue, connection),
            awaited: try Awaiting.name(of: sequence.rawValue, connection).map { EventName(stored: $0) },
            result: try result(of: sequence.rawValue, connection),
            task: try TaskPlaces.place(of: sequence.rawValue, connection))
    }

    /// In the order in which they were recorded; they lie by their names.
    private static func steps(of sequence: Int64, _ connection: Connection) throws -> [StepRecord] {
        try connection.all(selectAll, .integer(sequence)) { (position: $0.integer(3), record: try record($0)) }
            .sorted { $0.position < $1.position }.map(\.record)
    }

    /// Throws `unknownMessage` when the log does not have the message.
    package static func requireKnown(_ sequence: SequenceNumber, _ connection: Connection) throws {
        if try !Quarantine.isInLog(sequence.rawValue, connection) { throw PenstockError.unknown(sequence) }
    }

    private static func record(_ row: PreparedStatement) throws -> StepRecord {
        StepRecord(
            name: StepName(stored: row.text(0) ?? ""), result: try row.bytes(1),
            recordedAt: Timestamp(microseconds: row.integer(2)))
    }

    package static func hasSteps(_ sequence: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(anyStep, .integer(sequence))
    }

    private static let anyStep = Query("SELECT 1 FROM penstock_step WHERE sequence = ?1 LIMIT 1")
    private static let selectNamed = Query(
        "SELECT name, result, recorded_at FROM penstock_step WHERE sequence = ?1 AND name = ?2")
    private static let selectAll = Query(
        "SELECT name, result, recorded_at, position FROM penstock_step WHERE sequence = ?1")
    private static let measure = Query(
        """
        SELECT count(*), coalesce(max(position), 0), coalesce(sum(length(result)), 0)
        FROM penstock_step WHERE sequence = ?1
        """)
    private static let insert = Query(
        "INSERT INTO penstock_step (sequence, name, position, result, recorded_at) VALUES (?1, ?2, ?3, ?4, ?5)")
    private static let insertResult = Query(
        "INSERT OR REPLACE INTO penstock_result (sequence, result) VALUES (?1, ?2)")
    private static let readResult = Query("SELECT result FROM penstock_result WHERE sequence = ?1")
}
