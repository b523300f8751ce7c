import PenstockCore

/// How far the work on leased messages has come. A row goes when its message leaves the lease.
enum ProgressRows {
    /// Writes down what the worker says that holds message `sequence`.
    static func write(_ progress: MessageProgress, of sequence: Int64, in transaction: Transaction) throws {
        let fraction = progress.fraction.map { Value.integer(Int64(($0 * Self.scale).rounded())) } ?? .null
        try transaction.connection.run(
            insert, .integer(sequence), fraction, .text(progress.text), .integer(transaction.now.microseconds))
        try transaction.connection.run(mark, .integer(sequence), .integer(Marks.hasProgress.rawValue))
    }

    /// Forgets how far the work on message `sequence` had come.
    static func end(_ sequence: Int64, _ connection: Connection) throws {
        try connection.run(delete, .integer(sequence))
    }

    /// What a row says.
    static func record(millionths: Int64?, text: String, reportedAt: Timestamp) -> ProgressRecord {
        let fraction = millionths.map { Double($0.clamped(to: 0...Int64(scale))) / scale }
        return ProgressRecord(MessageProgress(fraction, text), reportedAt: reportedAt)
    }

    /// Fractions are kept in millionths.
    private static let scale = 1_000_000.0

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_progress (sequence, millionths, text, reported_at) VALUES (?1, ?2, ?3, ?4)")
    private static let mark = Query(
        "UPDATE penstock_lease SET marks = marks | ?2 WHERE sequence = ?1 AND marks & ?2 = 0")
    private static let delete = Query("DELETE FROM penstock_progress WHERE sequence = ?1")
}
