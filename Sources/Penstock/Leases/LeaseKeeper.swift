internal import Logging
internal import PenstockCore

/// Extends the leases of all messages that are worked on together, and ends the runs whose lease is lost.
struct LeaseKeeper: Sendable {
    /// One for each queue. They share what is in flight.
    let holders: [LeaseHolder]
    /// Whether only leases are extended on whose messages a run works, or a verdict is on its way. A reader that hands messages
    /// to others leaves the rest alone: one that was let go unsettled is to come back.
    let onlyOfRuns: Bool
    /// Asked before each call: whether nobody needs the keeper any more.
    var isOver: @Sendable () -> Bool = { false }

    private var holder: LeaseHolder { holders[0] }
    private var queue: QueueName { holder.queue }
    private var handle: StoreHandle { holder.handle }
    private var inFlight: InFlight { holder.inFlight }
    private var lease: Duration { holder.lease }

    /// Works until the task is cancelled, or it is over.
    ///
    /// A third of a lease between two calls: each lease is first extended when at least two thirds of it are left, or at once. A call
    /// that fails is made again in a moment: after a stall of the store the extension is to come before anybody who looks
    /// for lost work. While there are no leases the keeper of a worker sleeps on; one of runs alone finds that it is over.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for holder in holders { group.addTask { await hear(at: holder) } }
            await extend()
            group.cancelAll()
        }
    }

    private func extend() async {
        do {
            // A keeper of runs begins with a delivery, which may have waited for most of its lease before it came to the work.
            var isLate = onlyOfRuns && !inFlight.live(inFlight.leases, for: lease / 3 * 2)
            while true {
                if !onlyOfRuns { try await inFlight.waitForAny() }
                if !isLate { try await handle.time.sleep(for: lease / 3) }
                isLate = false
                if isOver() { return }
                var retry = StoreRetry(base: .milliseconds(50), cap: .seconds(1))
                while let delay = await extendAll(&retry) { try await handle.time.sleep(for: delay) }
            }
        } catch {
            // Only cancellation ends a sleep before its time.
        }
    }

    /// - Returns: when the store has failed, how long to wait before the next try.
    private func extendAll(_ retry: inout StoreRetry) async -> Duration? {
        let ends = handle.time.boot + lease
        let leases = inFlight.extended(to: ends, onlyOfRuns: onlyOfRuns)
        guard !leases.isEmpty else { return nil }
        do {
            let standings = try await handle.storage.extend(
                leases.map { LeaseExtension($0, by: lease, keepsLonger: true) })
            for (lease, standing) in zip(leases, standings) {
                if standing.isHeld { inFlight.moveEnd(of: lease, to: ends, keepsLonger: true) }
                note(standing, of: lease)
            }
        } catch is CancellationError {
            // The worker stops; nothing is to be extended any more.
        } catch {
            if let delay = retry.wait(after: error, of: "extend", for: queue, handle) { return delay }
            // The next claim meets the same, and ends the worker.
            handle.logger.error(
                "leases not extended",
                metadata: ["queue": "\(queue)", "count": "\(leases.count)", "error": "\(error)"])
        }
        return nil
    }

    // MARK: What is asked of the work

    /// Hears that something may be asked of those who work, until the task is cancelled. One who does not hear learns of it with
    /// the next extension.
    private func hear(at holder: LeaseHolder) async {
        let notices = handle.storage.changes.notices
        // Nothing was leased before.
        var before = holder.begun
        do {
            while true {
                try await notices.wait(for: holder.queue, after: before)
                before = notices.token(for: holder.queue)
                await look()
            }
        } catch {
            // Only cancellation ends a wait before its time.
        }
    }

    private func look() async {
        let leases = inFlight.leases
        if leases.isEmpty { return }
        guard let standings = try? await handle.storage.extend(leases.map { LeaseExtension($0) }) else { return }
        for (lease, standing) in zip(leases, standings) {
            // That a lease is lost on whose message no run works any more, its verdict finds out.
            if standing == .lost, inFlight.runs(on: lease).isEmpty { continue }
            note(standing, of: lease)
        }
    }

    private func note(_ standing: LeaseStanding, of lease: Lease) {
        switch standing {
        case .held: break
        case .cancelRequested: inFlight.ask(lease)
        case .lost: if inFlight.isExtended(lease) { inFlight.lose(lease) }
        }
    }
}
