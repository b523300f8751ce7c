package import PenstockCore

/// The workers that have a row and the first end of each one's leases, as they were at one moment of the file.
package struct HeldWork: Sendable {
    private(set) var workers: [WorkerRow] = []
    /// By worker, and on that worker's clock.
    private var firstEnds: [Int64: Int64] = [:]

    /// Nobody holds anything.
    package init() {}

    /// - Parameter horizon: on a server, from when on messages are leased that are leased still; `nil`: it is to be looked at all leases.
    package init(_ connection: Connection, since horizon: LeaseHorizon? = nil) throws {
        workers = try WorkerRow.all(connection)
        let statement = try connection.statement(Self.selectEnds)
        defer { statement.reset() }
        if connection.isServer { statement.bind(horizon?.start ?? 0, at: 1) }
        var firstClaim: Int64?
        while try statement.step() {
            let (worker, end) = (statement.integer(0), statement.integer(1))
            firstEnds[worker] = min(firstEnds[worker] ?? end, end)
            if connection.isServer { firstClaim = min(firstClaim ?? .max, statement.integer(2)) }
        }
        if let firstClaim { horizon?.found(firstClaim) }
    }

    /// Whether nobody holds anything.
    package var isEmpty: Bool { firstEnds.isEmpty }

    /// Whether something is to be put back in line.
    ///
    /// - Parameter forTheDead: whether to ask the kernel of each worker whether it lives. Those whose leases have ended are
    ///   asked about all the same.
    /// - Parameter sparesLiving: whether no lease of a worker that lives counts as ended.
    package func isLost(
        at now: BootTime, _ sights: any WorkerSights, forTheDead: Bool = true, sparesLiving: Bool = false
    ) -> Bool {
        // A lease whose worker has no row has nobody to settle it.
        let known = Set(workers.map(\.id))
        if firstEnds.keys.contains(where: { !known.contains($0) }) { return true }
        return workers.contains { worker in
            let hasEnded = hasEnded(worker, at: now)
            guard hasEnded || forTheDead else { return false }
            // Whoever reclaims moves the ends of its leases to this clock.
            if worker.isRemote, worker.clockName != now.bootID { return true }
            switch WorkerStanding(of: worker, at: now, sights) {
            case .dead: return true
            case .lives(let endsCount): return endsCount && hasEnded && !sparesLiving
            }
        }
    }

    /// The remote workers that hold nothing, and have not asked for messages after `moment`.
    package func idleWorkers(since moment: Timestamp) -> [Int64] {
        workers.filter { worker in firstEnds[worker.id] == nil && worker.seenAt.map { $0 <= moment } ?? false }.map(
            \.id)
    }

    /// How long it is until the end of a lease has to be looked at, on the clock of `now`; `nil` when none has to. For one
    /// that has ended and is still there somebody may be asking for more time, and it is looked at when that word no longer holds.
    package func untilNextEnd(at now: BootTime) -> Duration? {
        let ends = workers.compactMap { $0.clockName == now.bootID ? firstEnds[$0.id] : nil }
        return ends.map { end in
            end > now.microseconds ? .microseconds(end - now.microseconds) : WorkerStanding.wordHolds
        }.min()
    }

    private func hasEnded(_ worker: WorkerRow, at now: BootTime) -> Bool {
        guard worker.clockName == now.bootID, let end = firstEnds[worker.id] else { return false }
        return end <= now.microseconds
    }

    // Goes through all leases: an index of them would cost every message two writes.
    private static let selectEnds = Query(
        "SELECT worker_id, deadline FROM penstock_lease",
        server: """
            SELECT worker_id, min(deadline), min(claimed_at) FROM penstock_lease WHERE claimed_at >= ?1 GROUP BY worker_id
            """)
}
