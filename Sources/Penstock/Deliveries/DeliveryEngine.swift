internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// One reader of a queue that is asked for messages ahead of their coming. It knows no sequence and no publisher.
///
/// - Claims exactly as many as were asked for and not given, and holds `inFlightMax` at most.
/// - A message that cannot be decoded is a dead letter and does not count.
package final class DeliveryEngine<Element: Sendable>: Sendable {
    private struct State {
        var demand = 0
        var isCancelled = false
    }

    private let queue: Queue<Element>
    private let inFlightMax: Int
    let holder: LeaseHolder
    private let give: @Sendable (Delivery<Element>) -> Bool
    private let state = Mutex(State())
    /// Rings when demand came, or nobody wants more.
    private let work = Wakeups()

    private var inFlight: InFlight { holder.inFlight }

    /// Makes a reader that has claimed nothing.
    ///
    /// - Parameter give: gives a delivery to downstream, which has asked for it, outside of any lock. Returns whether
    ///   it was taken; one that was not goes back in line.
    package init(
        queue: Queue<Element>, inFlightMax: Int, lease: Duration, give: @escaping @Sendable (Delivery<Element>) -> Bool
    ) {
        self.queue = queue
        self.inFlightMax = inFlightMax
        self.give = give
        holder = LeaseHolder(queue, lease: lease)
    }

    /// Downstream asks for so many deliveries more; `Int.max`: for any number.
    package func request(_ count: Int) {
        tell { state in
            state.demand = state.demand.addingUpToMax(count)
        }
    }

    /// Downstream wants no more.
    package func cancel() {
        tell { $0.isCancelled = true }
    }

    /// Works until ``cancel()`` or a failure of the store, which it returns.
    package func run() async -> (any Error)? {
        holder.line.beginCarrying { [self] in tell { _ in } }
        defer { holder.line.endCarrying() }
        var claimLoop = ClaimLoop(holder)
        do {
            try ReaderLimits(inFlightMax: inFlightMax, lease: holder.lease).validate()
            while try await round(&claimLoop) {}
            claimLoop.end()
            return nil
        } catch {
            if error is CancellationError { claimLoop.end() }
            return error
        }
    }

    private func tell(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        work.ring(queue.name)
    }

    /// Claims once, or waits for a reason to. Returns whether there is to be another round.
    private func round(_ claimLoop: inout ClaimLoop) async throws -> Bool {
        // Both come before the look, so that what happens in between is not lost.
        let told = work.token(for: queue.name)
        let departedCount = inFlight.departedCount
        let (demand, isCancelled) = state.withLock { ($0.demand, $0.isCancelled) }
        if isCancelled { return false }
        var waits: [@Sendable () async throws -> Void] = [
            { [work, name = queue.name] in try await work.wait(for: name, after: told) }
        ]
        let room = min(demand, inFlightMax - inFlight.count(without: holder.line.leases))
        if room > 0 {
            let messages = try await claimLoop.next(upTo: min(room, Limits.batchCountMax))
            if !messages.isEmpty {
                // Downstream may wait for a verdict of its own.
                try await holder.line.whileAway { try await handOut(messages) }
                return true
            }
            waits += claimLoop.waits
        } else if !holder.line.isEmpty {
            await claimLoop.settle()
            return true
        } else if demand > 0 {
            waits.append { [inFlight] in try await inFlight.waitForDeparture(after: departedCount) }
        }
        try await firstOf(waits)
        return true
    }

    private func handOut(_ messages: [ClaimedMessage]) async throws {
        var left = messages[...]
        do {
            // Downstream may take its time with each: another reader may have the rest by then.
            while let message = left.first, holder.inFlight.lives(message.lease) {
                let delivery = try await queue.opened(message, by: holder)
                guard let delivery else {
                    left.removeFirst()
                    continue
                }
                state.withLock { state in
                    if state.demand < .max { state.demand -= 1 }
                }
                holder.line.handsOut()
                guard give(delivery) else { break }
                left.removeFirst()
            }
        } catch {
            await holder.giveBack(left.map(\.lease))
            throw error
        }
        await holder.giveBack(left.map(\.lease))
    }
}
