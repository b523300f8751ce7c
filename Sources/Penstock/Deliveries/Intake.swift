internal import PenstockCore

/// Claims messages when they are asked for, and hands them out one by one. One iterator has it to itself.
final class Intake<Element: Sendable> {
    private let queue: Queue<Element>
    private let demand: Demand
    private let holder: LeaseHolder
    private var inFlight: InFlight { holder.inFlight }
    /// Claimed, and not yet handed out.
    private var claimed: ArraySlice<ClaimedMessage> = []
    private var handedOut = 0
    let askedInAdvance = AskedInAdvance()

    init(queue: Queue<Element>, demand: Demand, inFlight: InFlight) {
        self.queue = queue
        self.demand = demand
        holder = LeaseHolder(queue, inFlight: inFlight, lease: demand.lease)
    }

    deinit {
        queue.handle.returns.begin(claimed.map(\.lease))
    }

    /// The next message; `nil` when the demand says that this is the end.
    func next(isolation: isolated (any Actor)?) async throws -> Delivery<Element>? {
        do {
            while !isOver {
                try Task.checkCancellation()
                if let message = claimed.first {
                    let delivery = try await queue.opened(message, by: holder)
                    claimed.removeFirst()
                    if let delivery {
                        handedOut += 1
                        return delivery
                    }
                } else if try await !claim(isolation: isolation) {
                    break
                }
            }
        } catch {
            await giveBack(isolation: isolation)
            throw error
        }
        await giveBack(isolation: isolation)
        return nil
    }

    private var isOver: Bool {
        demand.stop?.isOpen == true || demand.countMax.map { handedOut >= $0 } == true
    }

    /// Claims what there is room for, or waits for a reason to try again.
    ///
    /// - Returns: `false` when there is nothing more to wait for.
    private func claim(isolation: isolated (any Actor)?) async throws -> Bool {
        try demand.validate()
        // Both tokens come before the look, so that a ring in between is not lost.
        let departed = inFlight.token
        let changed = queue.storage.changes.token(for: queue.name)
        let inFlightCount = inFlight.count()
        // Who comes has asked for one at least.
        let asked = askedInAdvance.count.map { min(max($0 - handedOut, 1), Limits.batchCountMax) }
        let room = min(
            asked ?? demand.inFlightMax - inFlightCount, demand.countMax.map { $0 - handedOut } ?? .max)
        guard room > 0 else {
            try await firstOf([departure(after: departed)] + stopped)
            return true
        }

        let time = queue.handle.time
        if queue.handle.reclaimPace.takesTurn() { _ = try await queue.storage.reclaim() }
        let ends = time.boot + demand.lease
        let claim = try await queue.storage.claim(
            ClaimRequest(queue: queue.name, limit: room, lease: demand.lease))
        guard claim.messages.isEmpty else {
            claimed = claim.messages[...]
            inFlight.add(claimed.map(\.lease), ending: ends)
            queue.metrics.recordClaim(of: claim.messages, at: time.now)
            return true
        }
        if demand.drains && inFlightCount == 0 { return false }

        let look = time.now + queue.storage.lookInterval
        let deadline = min(claim.nextDue ?? look, look)
        var waits = [change(after: changed), { @Sendable in try await time.sleep(until: deadline) }]
        if demand.drains { waits.append(departure(after: departed)) }
        try await firstOf(waits + stopped)
        return true
    }

    private func change(after token: Wakeups.Token) -> @Sendable () async throws -> Void {
        { [changes = queue.storage.changes, name = queue.name] in try await changes.waitForWork(in: name, after: token)
        }
    }

    private func departure(after token: Wakeups.Token) -> @Sendable () async throws -> Void {
        { [inFlight] in try await inFlight.waitForDeparture(after: token) }
    }

    /// The wait for the end of the reading, if somebody may ask for it.
    private var stopped: [@Sendable () async throws -> Void] {
        demand.stop.map { stop in [{ try await stop.wait() }] } ?? []
    }

    private func giveBack(isolation: isolated (any Actor)?) async {
        guard !claimed.isEmpty else { return }
        let leases = claimed.map(\.lease)
        claimed = []
        for lease in leases { inFlight.remove(lease) }
        await queue.handle.returns.complete(leases)
    }
}
