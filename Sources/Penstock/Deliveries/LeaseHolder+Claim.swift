internal import Metrics
internal import PenstockCore

extension LeaseHolder {
    /// Claims up to `limit` messages for this reader, and holds them. Looks for lost work before, when it is time to.
    func claim(upTo limit: Int) async throws -> Claim {
        if handle.reclaimPace.takesTurn() { _ = try await handle.storage.reclaim() }
        let ends = handle.time.boot + lease
        let claim = try await handle.storage.claim(ClaimRequest(queue: queue, limit: limit, lease: lease))
        hold(claim, until: ends)
        return claim
    }

    /// Holds what a claim gave, whose leases end at `ends` or later.
    func hold(_ claim: Claim, until ends: BootTime) {
        inFlight.add(claim.messages.map(\.lease), ending: ends)
        metrics.recordClaim(of: claim.messages, at: handle.time.now)
    }

    /// What whoever has claimed in vain waits for: a ring later than `token`, the time at which the next message is due,
    /// or that of a look. It must then claim `room` messages at least, as nobody else is woken for them.
    func waitsForWork(after token: Wakeups.Token, room: Int, due: Timestamp?) -> [@Sendable () async throws -> Void] {
        let (changes, time, look) = (handle.storage.changes, handle.time, handle.storage.lookInterval)
        let deadline = due.map { min($0, time.now + look) }
        return [
            { [queue] in try await changes.waitForWork(in: queue, after: token, room: room) },
            {
                // Only what is due goes by the wall clock, which has to be looked at now and then.
                if let deadline { try await time.sleep(until: deadline) } else { try await time.sleep(for: look) }
            },
        ]
    }

    /// Puts messages back in line that nobody gets, also for a task that is cancelled.
    func giveBack(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        inFlight.remove(leases)
        await handle.returns.complete(leases)
    }
}
