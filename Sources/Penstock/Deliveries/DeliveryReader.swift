internal import PenstockCore

/// Claims messages when they are asked for, and hands them out one by one. One iterator has it to itself, with its copies, and
/// is asked for one message at a time: a second call between the claim and the handing out would lose what the first has claimed.
final class DeliveryReader<Element: Sendable> {
    private let queue: Queue<Element>
    private let limits: ReaderLimits
    private var claimLoop: ClaimLoop
    private var holder: LeaseHolder { claimLoop.holder }
    private var inFlight: InFlight { holder.inFlight }
    /// Claimed, and not yet handed out.
    private var claimed: ArraySlice<ClaimedMessage> = []
    private var handedOut = 0
    private var isAsked = false
    let requested = RequestedCount()

    init(queue: Queue<Element>, limits: ReaderLimits) {
        self.queue = queue
        self.limits = limits
        claimLoop = ClaimLoop(LeaseHolder(queue, lease: limits.lease))
    }

    deinit {
        queue.handle.beginRelease(claimed.map(\.lease))
    }

    /// The next message, once there is one.
    func next(isolation: isolated (any Actor)?) async throws -> Delivery<Element> {
        precondition(!isAsked, "next() was called while another call of it was under way.")
        isAsked = true
        defer { isAsked = false }
        do {
            while true {
                try Task.checkCancellation()
                if let message = claimed.first {
                    // The one before took its time: another reader may have these by now.
                    guard inFlight.lives(message.lease) else {
                        await giveBackClaimed(isolation: isolation)
                        continue
                    }
                    let delivery = try await queue.opened(message, by: holder)
                    claimed.removeFirst()
                    if let delivery {
                        handedOut += 1
                        holder.line.handsOut()
                        return delivery
                    }
                } else {
                    try await claim(isolation: isolation)
                }
            }
        } catch {
            await giveBackClaimed(isolation: isolation)
            if error is CancellationError { claimLoop.end() }
            throw error
        }
    }

    /// Gives back what was claimed and not handed out.
    func close() async {
        await giveBackClaimed(isolation: nil)
        claimLoop.end()
    }

    private func giveBackClaimed(isolation: isolated (any Actor)?) async {
        let leases = claimed.map(\.lease)
        claimed = []
        await holder.giveBack(leases)
    }

    /// Claims what there is room for, or waits for a reason to try again.
    private func claim(isolation: isolated (any Actor)?) async throws {
        try limits.validate()
        // The caller has asked for one at least.
        let asked = requested.count.map { min(max($0 - handedOut, 1), Limits.batchCountMax) }
        var claimLoop = claimLoop
        defer { self.claimLoop = claimLoop }
        claimed = try await Self.claim(asked, inFlightMax: limits.inFlightMax, &claimLoop)[...]
    }

    /// Not in the caller's isolation, which may be busy: verdicts wait for this.
    private nonisolated static func claim(
        _ asked: Int?, inFlightMax: Int, _ claimLoop: inout ClaimLoop
    ) async throws -> [ClaimedMessage] {
        let (inFlight, line) = (claimLoop.holder.inFlight, claimLoop.holder.line)
        // Before the look, so that a departure in between is not lost.
        let departedCount = inFlight.departedCount
        // Verdicts that come until the claim is made go with it.
        line.beginCarrying { inFlight.ringDeparture() }
        defer { line.endCarrying() }
        // Tasks that are about to settle do so first, and their messages make room: fewer calls carry more.
        if inFlight.holds(moreThan: 0) { await Task.yield() }
        // Also for a reader that need not know: this is what forgets deliveries that were let go, once their leases have ended.
        let heldCount = inFlight.count(without: line.leases)
        let room = asked ?? inFlightMax - heldCount
        if room <= 0 {
            if line.isEmpty {
                try await inFlight.waitForDeparture(after: departedCount)
            } else {
                await claimLoop.settle()
            }
            return []
        }
        let claimed = try await claimLoop.next(upTo: room)
        if claimed.isEmpty {
            // Nothing wakes it for verdicts there.
            line.endCarrying()
            try await firstOf(claimLoop.waits)
        }
        return claimed
    }
}
