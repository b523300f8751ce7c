package import PenstockCore

/// Verdicts on leased messages, and more time for them.
package enum Settling {
    /// Throws `invalidInput` when a verdict, or a task that is added, is one that cannot be.
    package static func validate(_ settlements: [Settlement], now: Timestamp) throws {
        for settlement in settlements {
            try settlement.validate()
            try settlement.added?.validate(now: now)
            try Draft.validate(settlement.drafts, now: now)
        }
    }

    /// Says what verdicts are about to read.
    static func prefetch(_ settlements: [Settlement], _ connection: Connection) throws {
        guard let first = settlements.first?.lease.sequence.rawValue else { return }
        defer { if settlements.contains(where: \.bringsMessages) { Enqueue.prefetch(connection) } }
        if settlements.count == 1 { return try Line.prefetchLeased(first, connection) }
        try DoneRun.prefetch(settlements[...], from: first, connection)
    }

    /// Carries out verdicts, in their order: each if its lease is still held.
    ///
    /// - Throws: what messages that come into line with a verdict are refused for. Then nothing of the call is written.
    package static func perform(_ settlements: [Settlement], in transaction: Transaction) throws -> [SettleResult] {
        let results =
            settlements.contains(where: \.bringsMessages)
            ? try transaction.nested { try performEach(settlements, in: transaction) }
            : try performEach(settlements, in: transaction)
        // What has waited for these is there for a claim in the same transaction.
        if !transaction.cascade.isEmpty { try Cascade.perform(in: transaction) }
        return results
    }

    private static func performEach(
        _ settlements: [Settlement], in transaction: Transaction
    ) throws -> [SettleResult] {
        var results: [SettleResult] = []
        results.reserveCapacity(settlements.count)
        while results.count < settlements.count {
            let left = settlements[results.count...]
            let count = left.count > 1 ? try DoneRun.finish(left, in: transaction) : 0
            if count > 0 {
                results += repeatElement(.settled(.done), count: count)
            } else {
                results.append(try perform(settlements[results.count], in: transaction))
            }
        }
        return results
    }

    private static func perform(_ settlement: Settlement, in transaction: Transaction) throws -> SettleResult {
        guard var entry = try Line.leased(settlement.lease.sequence.rawValue, in: transaction),
            entry.lease?.token == settlement.lease.token.rawValue
        else { return try transaction.settledBefore?(settlement.lease, true) ?? .leaseLost }
        if settlement.bringsMessages {
            // What the verdicts before this one have released takes room before what comes with it.
            try Cascade.perform(in: transaction)
            if let added = settlement.added { try Workflows.add(added, by: entry, in: transaction) }
            try Enqueue.perform(settlement.drafts, in: transaction)
        }
        let outcome: Lifecycle.Outcome?
        if case .done = settlement.verdict {
            // What `Lifecycle` says of `done` depends on nothing that would have to be read first.
            outcome = entry.outcome(.done)
        } else if case .suspend(let until, let event?) = settlement.verdict {
            outcome = try Events.suspend(&entry, until: until, awaiting: event, in: transaction)
        } else {
            outcome = try Line.outcome(of: .settled(settlement.verdict), on: entry, in: transaction)
        }
        guard let outcome else { return .leaseLost }
        if case .suspend = settlement.verdict, !settlement.isUnbegun, outcome.state == .scheduled {
            entry.marks.insert(.suspended)
        }
        if let result = settlement.result { try Journals.keep(result, of: entry.sequence, transaction.connection) }
        let state = try Line.move(entry, to: outcome, in: transaction)
        if let lease = entry.lease, settlement.givesStartBack {
            try Rates.giveBack(entry, claimedAt: lease.claimedAt, in: transaction)
        } else if let lease = entry.lease, settlement.verdict.isOfWork {
            entry.account.change.latency.work.record(
                microseconds: transaction.now.microseconds.elapsed(since: lease.claimedAt))
        }
        if case .retry(_, _, let delay?, holdsGroup: true) = settlement.verdict {
            try GroupRates.hold(entry, for: delay, in: transaction)
        }
        if outcome.failure != nil, state.isWaiting { entry.account.change.retriedTotal += 1 }
        return .settled(state)
    }

    /// Carries out an extension, if the lease is still held, and says how it stands.
    package static func extend(_ wanted: LeaseExtension, in transaction: Transaction) throws -> LeaseStanding {
        let standing = try extend(
            wanted.lease, by: wanted.duration, keepsLonger: wanted.keepsLonger, in: transaction)
        guard standing.isHeld else {
            // What a worker does after its verdict is not stopped.
            return try transaction.settledBefore?(wanted.lease, false) == nil ? .lost : .held
        }
        if let progress = wanted.progress {
            try ProgressRows.write(progress, of: wanted.lease.sequence.rawValue, in: transaction)
        }
        return standing
    }

    /// Moves the end of one lease to `duration` from now, if it is still held, and says how it stands.
    @discardableResult
    package static func extend(
        _ lease: Lease, by duration: Duration?, keepsLonger: Bool = false, in transaction: Transaction
    ) throws -> LeaseStanding {
        let connection = transaction.connection
        let sequence = lease.sequence.rawValue
        let standing = try CancelRequests.standing(of: lease, connection)
        guard let duration, standing.isHeld else { return standing }
        try RemoteWorkers.rebase(in: transaction)
        var deadline = transaction.time.boot.microseconds + duration.wholeMicroseconds
        if standing == .cancelRequested {
            deadline = try CancelRequests.bounded(deadline, of: sequence, in: transaction)
        }
        // A worker that is asked to end has no longer lease than it is given for that.
        let isKept = keepsLonger && standing == .held
        try connection.run(isKept ? writeLaterDeadline : writeDeadline, .integer(sequence), .integer(deadline))
        return standing
    }

    package static func isHeld(_ lease: Lease, _ connection: Connection) throws -> Bool {
        try CancelRequests.standing(of: lease, connection).isHeld
    }

    private static let writeLaterDeadline = Query(
        "UPDATE penstock_lease SET deadline = ?2 WHERE sequence = ?1 AND deadline < ?2")
    private static let writeDeadline = Query("UPDATE penstock_lease SET deadline = ?2 WHERE sequence = ?1")
}
