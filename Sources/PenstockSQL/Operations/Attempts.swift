import PenstockCore

/// The record of attempts that did not end well.
enum Attempts {
    /// Keeps the failed attempt of `entry`; of more than ``Limits/attemptsKeptMax`` the first ones go.
    static func record(
        _ failure: Lifecycle.Failure, of entry: LineEntry, _ lease: LineEntry.HeldLease, in transaction: Transaction
    ) throws {
        let connection = transaction.connection
        try connection.run(
            insert, .integer(entry.sequence), .integer(entry.attempt), .text(failure.outcome.rawValue),
            .text(failure.error), .integer(lease.workerID), .integer(lease.claimedAt),
            .integer(transaction.now.microseconds))
        if entry.attempt > Limits.attemptsKeptMax {
            try connection.run(
                trim, .integer(entry.sequence), .integer(entry.attempt - Int64(Limits.attemptsKeptMax)))
        }
    }

    static let readWorker = Query("SELECT name FROM penstock_worker WHERE id = ?1")
    // A release takes an attempt's number back, so a number can come twice; the later one is the true one.
    private static let insert = Query(
        """
        INSERT OR REPLACE INTO penstock_attempt (sequence, attempt, outcome, error, worker, started_at, ended_at)
        VALUES (?1, ?2, ?3, ?4, coalesce((SELECT name FROM penstock_worker WHERE id = ?5), 'unknown'), ?6, ?7)
        """)
    private static let trim = Query("DELETE FROM penstock_attempt WHERE sequence = ?1 AND attempt <= ?2")
}
