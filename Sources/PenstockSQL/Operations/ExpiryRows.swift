import PenstockCore

/// The rows of `penstock_expiry`: one for each message that waits and has ``Marks/expiry``.
enum ExpiryRows {
    /// The message of a queue that expires first, and when; `nil` when none does.
    ///
    /// - Parameter start: a moment before which none is known to expire; `nil`: nothing is known.
    static func first(
        of queueID: Int64, from start: Timestamp? = nil, _ connection: Connection
    ) throws -> (sequence: Int64, expires: Timestamp)? {
        try connection.first(readFirst, .integer(queueID), .integer(start?.microseconds ?? .min)) {
            ($0.integer(0), Timestamp(microseconds: $0.integer(1)))
        }
    }

    /// Says that ``first(of:from:_:)`` is about to be asked, and nothing is known.
    static func prefetchFirst(of queueID: Int64, _ connection: Connection) throws {
        try connection.prefetch(readFirst, .integer(queueID), .integer(.min))
    }

    static func first(of queue: QueueName, _ connection: Connection) throws -> Timestamp? {
        try connection.first(readFirstNamed, .text(queue.text)) { Timestamp(microseconds: $0.integer(0)) }
    }

    /// When message `sequence` expires; `nil` when it does not, or does not wait.
    static func time(of sequence: Int64, _ connection: Connection) throws -> Timestamp? {
        try connection.first(readTime, .integer(sequence)) { Timestamp(microseconds: $0.integer(0)) }
    }

    /// Gives those of these messages their rows that expire. They are in the log.
    static func insert(_ sequences: ClosedRange<Int64>, _ connection: Connection) throws {
        try connection.run(insertRange, .integer(sequences.lowerBound), .integer(sequences.upperBound))
    }

    /// Gives those of these messages their rows that expire. They are in the log.
    static func insert(_ sequences: [Int64], _ connection: Connection) throws {
        if !sequences.isEmpty { try connection.run(insertListed, .sequences(sequences)) }
    }

    /// Takes away the rows of messages that a worker has now.
    static func end(_ sequences: [Int64], _ connection: Connection) throws {
        guard let first = sequences.min(), let last = sequences.max() else { return }
        try connection.run(deleteListed) { row in
            row.bind(.sequences(sequences), at: 1)
            guard connection.isServer else { return }
            row.bind(first, at: 2)
            row.bind(last, at: 3)
        }
    }

    /// Takes away the row of message `sequence`.
    static func end(_ sequence: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(sequence))
    }

    /// Sees to the row of a message that expires as it goes to `state`: one that has ended has none, and one that a worker gives
    /// back has its own again.
    static func follow(_ entry: LineEntry, to state: MessageState, _ connection: Connection) throws {
        if state.isFinished {
            if entry.state != .leased { try end(entry.sequence, connection) }
        } else if entry.state == .leased {
            try insert(entry.sequence...entry.sequence, connection)
        }
    }

    private static let readFirstNamed = Query(
        """
        SELECT expires_at FROM penstock_expiry WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = ?1)
        ORDER BY expires_at LIMIT 1
        """)
    private static let readFirst = Query(
        """
        SELECT sequence, expires_at FROM penstock_expiry WHERE queue_id = ?1 AND expires_at >= ?2
        ORDER BY expires_at, sequence LIMIT 1
        """)
    private static let readTime = Query("SELECT expires_at FROM penstock_expiry WHERE sequence = ?1")
    // A row that is there already contradicts the line, and is as good as this one.
    private static let insert = """
        INSERT OR REPLACE INTO penstock_expiry (sequence, queue_id, expires_at)
        SELECT sequence, queue_id, expires_at FROM penstock_log WHERE expires_at IS NOT NULL
        """
    private static let insertRange = Query("\(insert) AND sequence BETWEEN ?1 AND ?2")
    private static let insertListed = Query("\(insert) AND sequence IN (SELECT value FROM json_each(?1))")
    // A server goes through all of a table that it takes to be small, and it may be small but for the versions of rows that are gone.
    private static let deleteListed = Query(deletingListed, server: "\(deletingListed) AND sequence BETWEEN ?2 AND ?3")
    private static let deletingListed =
        "DELETE FROM penstock_expiry WHERE sequence IN (SELECT value FROM json_each(?1))"
    private static let delete = Query("DELETE FROM penstock_expiry WHERE sequence = ?1")
}
