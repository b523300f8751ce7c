internal import Metrics
internal import PenstockCore

extension LeaseHolder {
    /// Claims up to `limit` messages for this reader, and holds them. Looks for lost work before, when it is time to.
    /// ``Claims`` goes on when this fails.
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

    /// Puts messages back in line that nobody gets, also for a task that is cancelled.
    func giveBack(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        inFlight.remove(leases)
        await handle.returns.complete(leases)
    }
}
