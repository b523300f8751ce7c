internal import Metrics
internal import PenstockCore

extension LeaseHolder {
    /// Carries out operations for this reader, and holds what they claim. Looks for lost work before a claim, when it is
    /// time to.
    ///
    /// - Throws: what the store threw; then nothing was done.
    func perform(_ operations: [StoreOperation]) async throws -> Performed {
        let claims = operations.contains { if case .claim = $0 { true } else { false } }
        if claims, handle.reclaimPace.takesTurn() { _ = try await handle.storage.reclaim() }
        // Reckoned from before the call, so that no lease is held longer than the store says.
        let ends = handle.time.boot + lease
        let performed = try await handle.storage.perform(operations)
        for case .claimed(let claim) in performed.answers {
            inFlight.add(claim.messages.map(\.lease), ending: ends)
            metrics.recordClaim(of: claim.messages, at: handle.time.now)
        }
        return performed
    }

    /// Claims up to `limit` messages for this reader, and holds them.
    func claim(upTo limit: Int) async throws -> Claim {
        let request = ClaimRequest(queue: queue, limit: limit, lease: lease)
        guard case .claimed(let claim)? = try await perform([.claim(request)]).answers.first else {
            throw PenstockError.unexpectedAnswer
        }
        return claim
    }

    /// Puts messages back in line that nobody gets, also for a task that is cancelled.
    func giveBack(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        inFlight.remove(leases)
        await handle.returns.complete(leases)
    }
}

extension PenstockError {
    /// A store's answer is none to what it was asked.
    static let unexpectedAnswer = PenstockError(.storage, "The store's answer is none to what it was asked.")
}
