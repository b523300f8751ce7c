internal import Logging
internal import PenstockCore

/// Extends the leases of all jobs together while they run, and ends those whose lease is lost.
struct LeaseKeeper: Sendable {
    let holder: LeaseHolder
    let crew: Crew
    /// Whether only leases of jobs that run are extended. A reader that hands messages to others leaves those alone: one
    /// that was let go unsettled is to come back.
    var onlyOfCrew = false

    private var queue: QueueName { holder.queue }
    private var handle: StoreHandle { holder.handle }
    private var inFlight: InFlight { holder.inFlight }
    private var lease: Duration { holder.lease }

    /// Works until the task is cancelled.
    ///
    /// A third of a lease between two calls: each lease is first extended when at least two thirds of it are left, and
    /// one call may fail before any ends. While there are none it sleeps on.
    func run() async {
        do {
            while true {
                try await inFlight.waitForAny()
                try await handle.time.sleep(for: lease / 3)
                await extendAll()
            }
        } catch {
            // Only cancellation ends a sleep before its time.
        }
    }

    private func extendAll() async {
        let leases = onlyOfCrew ? inFlight.extended.filter { crew.job(of: $0) != nil } : inFlight.extended
        guard !leases.isEmpty else { return }
        let ends = handle.time.boot + lease
        do {
            let held = try await handle.storage.extend(leases, by: lease)
            for (lease, isHeld) in zip(leases, held) {
                if isHeld {
                    inFlight.moveEnd(of: lease, to: ends)
                } else if inFlight.isExtended(lease) {
                    if let job = crew.job(of: lease) { job.end(.leaseLost) } else { inFlight.remove(lease) }
                }
            }
        } catch is CancellationError {
            // The worker stops; nothing is to be extended any more.
        } catch {
            handle.logger.warning(
                "leases not extended; trying again",
                metadata: ["queue": "\(queue)", "count": "\(leases.count)", "error": "\(error)"])
        }
    }
}
