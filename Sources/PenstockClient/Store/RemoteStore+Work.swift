public import PenstockCore
import PenstockWire

/// Claims, and what becomes of what they gave. What a client holds is known to it, so that it can give it back.
extension RemoteStore {
    /// Leases messages to this client, or to the worker that the request names.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        let (claim, ahead) = try await timedAnswer(to: RemoteCalls.claim.request(asked(request)))
        return taken(claim, request, ahead)
    }

    /// Carries out verdicts.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        let results = try await answer(to: RemoteCalls.settle.request(settlements))
        held.remove(settlements.map(\.lease))
        return results
    }

    /// Carries out operations in their order. The answer comes when they are as durable as they ask to be.
    public func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        let asked = operations.map { operation -> StoreOperation in
            guard case .claim(let request) = operation else { return operation }
            return .claim(self.asked(request))
        }
        var (performed, ahead) = try await timedAnswer(to: RemoteCalls.perform.request(asked))
        for (index, answer) in performed.answers.enumerated() {
            switch (operations[index], answer) {
            case (.settle(let settlements), _): held.remove(settlements.map(\.lease))
            case (.claim(let request), .claimed(let claim)):
                performed.answers[index] = .claimed(taken(claim, request, ahead))
            default: break
            }
        }
        flushed?(nil)
        return performed
    }

    /// Moves the ends of leases.
    public func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        let standings = try await answer(to: RemoteCalls.extend.request(extensions))
        held.remove(zip(extensions, standings).lazy.filter { !$1.isHeld }.map(\.0.lease))
        return standings
    }

    /// Puts lost messages back in line.
    public func reclaim() async throws -> Reclaimed {
        try await answer(to: RemoteCalls.reclaim.request())
    }

    private func asked(_ request: ClaimRequest) -> ClaimRequest {
        var request = request
        request.remoteWorker = request.remoteWorker ?? worker
        return request
    }

    /// What a claim of this client gave. What it claims for others is theirs.
    private func taken(_ claim: Claim, _ request: ClaimRequest, _ ahead: Duration) -> Claim {
        if request.remoteWorker == nil { held.add(claim.messages.map(\.lease)) }
        var claim = claim
        claim.nextDue = claim.nextDue.map { $0 + ahead }
        return claim
    }
}
