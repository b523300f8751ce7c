internal import Logging
internal import PenstockCore

/// What a worker does for the whole store beside its own queue: it forgets what retention lets go, and fires the schedules of
/// queues that nobody works.
struct Upkeep: Sendable {
    let handle: StoreHandle

    /// Does it at once, when a schedule is due, and from minute to minute, until the task is cancelled; begins no round once the
    /// worker stops.
    func run(until stopping: Latch) async {
        var pause = Duration.zero
        repeat {
            if stopping.isOpen { return }
            await Pruner(handle: handle).tidy()
            // Where the store is slow to answer, the caller that waits for the end is not to wait twice.
            if Task.isCancelled { return }
            pause = await fire()
        } while (try? await handle.time.sleep(for: pause)) != nil
    }

    /// Fires what is due.
    ///
    /// - Returns: for how long there is nothing to do.
    private func fire() async -> Duration {
        do {
            let next = try await handle.storage.fire()
            return min(RateGate.pruneInterval, max(next.map { $0 - handle.time.now } ?? .seconds(3600), .zero))
        } catch is CancellationError {
            // The worker stops, and what is due is for another one.
        } catch {
            handle.logger.warning("schedules not fired; trying again in a minute", metadata: ["error": "\(error)"])
        }
        return RateGate.pruneInterval
    }
}
