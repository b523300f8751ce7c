import PenstockCore

/// Which scheduled messages wait for an event.
enum Awaiting {
    /// Writes down that message `sequence` goes on when an event of that name comes.
    static func begin(_ sequence: Int64, _ name: EventName, workflowID: Int64?, _ connection: Connection) throws {
        try connection.run(insert, .integer(sequence), .integer(workflowID ?? 0), .text(name.text))
    }

    /// Forgets what message `sequence` waits for.
    static func end(_ sequence: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(sequence))
    }

    /// The event that message `sequence` waits for.
    static func name(of sequence: Int64, _ connection: Connection) throws -> String? {
        try connection.first(readName, .integer(sequence)) { $0.text(0) } ?? nil
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_awaited (sequence, workflow_id, name) VALUES (?1, ?2, ?3)")
    private static let delete = Query("DELETE FROM penstock_awaited WHERE sequence = ?1")
    private static let readName = Query("SELECT name FROM penstock_awaited WHERE sequence = ?1")
}
