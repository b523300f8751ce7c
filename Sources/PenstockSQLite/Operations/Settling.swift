import PenstockCore

/// Verdicts on leased messages, and more time for them.
enum Settling {
    /// Carries out verdicts, in their order: each if its lease is still held.
    static func perform(_ settlements: [Settlement], in transaction: Transaction) throws -> [SettleResult] {
        var results: [SettleResult] = []
        results.reserveCapacity(settlements.count)
        while results.count < settlements.count {
            let count = try DoneRun.finish(settlements[results.count...], in: transaction)
            if count > 0 {
                results += repeatElement(.settled(.done), count: count)
            } else {
                results.append(try perform(settlements[results.count], in: transaction))
            }
        }
        return results
    }

    private static func perform(_ settlement: Settlement, in transaction: Transaction) throws -> SettleResult {
        guard let entry = try Line.leased(settlement.lease.sequence.rawValue, in: transaction),
            entry.lease?.token == settlement.lease.token.rawValue
        else { return .leaseLost }
        let outcome: Lifecycle.Outcome?
        if case .done = settlement.verdict {
            // What `Lifecycle` says of `done` depends on nothing that would have to be read first.
            outcome = Lifecycle.Outcome(state: .done, attempt: Int(entry.attempt), forgiven: Int(entry.forgiven))
        } else {
            outcome = try Line.outcome(of: .settled(settlement.verdict), on: entry, in: transaction)
        }
        guard let outcome else { return .leaseLost }
        try Line.move(entry, to: outcome, in: transaction)
        if outcome.failure != nil, outcome.state.isWaiting { entry.account.change.retriedTotal += 1 }
        return .settled(outcome.state)
    }

    /// Moves the end of one lease to `duration` from now, if it is still held.
    static func extend(_ lease: Lease, by duration: Duration, in transaction: Transaction) throws -> Bool {
        let connection = transaction.connection
        guard try isHeld(lease, connection) else { return false }
        try connection.run(
            writeDeadline, .integer(lease.sequence.rawValue),
            .integer(transaction.time.boot.microseconds + duration.wholeMicroseconds))
        return true
    }

    static func isHeld(_ lease: Lease, _ connection: Connection) throws -> Bool {
        let token = try connection.first(readToken, .integer(lease.sequence.rawValue)) { $0.integer(0) }
        return token == lease.token.rawValue
    }

    private static let readToken = Query("SELECT token FROM penstock_lease WHERE sequence = ?1")
    private static let writeDeadline = Query("UPDATE penstock_lease SET deadline = ?2 WHERE sequence = ?1")
}
