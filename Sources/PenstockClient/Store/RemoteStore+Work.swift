import NIOCore
public import PenstockCore
import PenstockWire

/// Claims, and what becomes of what they gave. What a client holds is known to it, so that it can give it back.
extension RemoteStore {
    /// Leases messages to this client, or to the worker that the request names.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        try await answer(to: RemoteCalls.claim.request(asked(request))) { taken($0, request) }
    }

    /// Carries out verdicts.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try await answer(to: RemoteCalls.settle.request(asked(settlements))) { results in
            held.remove(settlements.map(\.lease))
            return results
        }
    }

    /// Carries out operations in their order. The answer comes when they are as durable as they ask to be.
    public func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        let asked = operations.map { operation -> StoreOperation in
            switch operation {
            case .claim(let request): .claim(self.asked(request))
            case .settle(let settlements): .settle(self.asked(settlements))
            case .enqueue: operation
            }
        }
        let performed = try await answer(to: RemoteCalls.perform.request(asked)) { performed in
            guard performed.answers.count <= operations.count else { throw unexpectedAnswer(.changing) }
            var performed = performed
            for (index, (operation, answer)) in zip(operations, performed.answers).enumerated() {
                switch (operation, answer) {
                case (.settle(let settlements), _): held.remove(settlements.map(\.lease))
                case (.claim(let request), .claimed(let claim)):
                    performed.answers[index] = .claimed(taken(claim, request))
                default: break
                }
            }
            return performed
        }
        flushed?(nil)
        return performed
    }

    /// Moves the ends of leases. A call that changes nothing when it comes twice, or late, is made once more when no answer comes.
    public func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        guard extensions.allSatisfy({ $0.keepsLonger || $0.duration == nil }) else {
            return try await extend(extensions, within: ServerConnection.callTime)
        }
        let time = Self.extensionTime(for: extensions)
        do {
            return try await extend(extensions, within: time)
        } catch let error as PenstockError where error.code == .outcomeUnknown {
            // Connections that are kept may have fallen silent together.
            return try await extend(extensions, within: time, onNewConnection: true)
        }
    }

    /// How long an extension may take. Whoever extends leases in good time has several tries before they end.
    static func extensionTime(for extensions: [LeaseExtension]) -> TimeAmount {
        guard let lease = extensions.compactMap(\.duration).min() else { return ServerConnection.callTime }
        return min(max(TimeAmount(lease / 6), .milliseconds(500)), ServerConnection.callTime)
    }

    private func extend(
        _ extensions: [LeaseExtension], within time: TimeAmount, onNewConnection: Bool = false
    ) async throws -> [LeaseStanding] {
        let request = RemoteCalls.extend.request(extensions)
        return try await answer(to: request, within: time, onNewConnection: onNewConnection) { standings in
            for (wanted, standing) in zip(extensions, standings) where standing.isHeld {
                guard let duration = wanted.duration else { continue }
                held.extend(wanted.lease, by: duration, keepsLonger: wanted.keepsLonger)
            }
            held.remove(zip(extensions, standings).lazy.filter { !$1.isHeld }.map(\.0.lease))
            return standings
        }
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

    /// The verdicts as the server is to have them. Until when a message is suspended this machine's clock says, by which whoever goes on
    /// with it looks whether the time has come.
    private func asked(_ settlements: [Settlement]) -> [Settlement] {
        let clocks = clocks
        return settlements.map { settlement in
            guard case .suspend(let moment, let event) = settlement.verdict else { return settlement }
            var settlement = settlement
            settlement.verdict = .suspend(until: clocks.there(moment), event: event)
            return settlement
        }
    }

    /// What a claim of this client gave. What it claims for others is theirs.
    private func taken(_ claim: Claim, _ request: ClaimRequest) -> Claim {
        if request.remoteWorker == nil { held.add(claim.messages.map(\.lease), for: request.lease) }
        var claim = claim
        let clocks = clocks
        claim.nextDue = claim.nextDue.map(clocks.here)
        // How long they have waited is reckoned here.
        for index in claim.messages.indices {
            claim.messages[index].enqueuedAt = clocks.here(claim.messages[index].enqueuedAt)
        }
        return claim
    }
}
