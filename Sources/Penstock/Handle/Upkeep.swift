internal import Logging
internal import PenstockCore
internal import Synchronization

/// What a worker does for the whole store beside its own queue: it fires the schedules of queues that nobody works, and forgets what
/// retention lets go.
struct Upkeep: Sendable {
    let handle: StoreHandle

    /// Does it at once, when a schedule is due, and from minute to minute, until the task is cancelled; begins no round once the
    /// worker stops.
    ///
    /// Pruning goes on beside it: a firing that waited a minute for the end of a long round would count as missed.
    func run(until stopping: Latch) async {
        let round = Round()
        await withDiscardingTaskGroup { group in
            var retry = StoreRetry()
            var pause = Duration.zero
            repeat {
                if stopping.isOpen { break }
                if handle.pruneGate.isDue, round.begin() {
                    group.addTask {
                        await prune()
                        round.end()
                    }
                }
                if handle.deletionNotice.tryPass() { group.addTask { await handle.deletionNotice.look() } }
                pause = await fire(&retry)
            } while (try? await handle.time.sleep(for: pause)) != nil
        }
    }

    /// Forgets what retention lets go: one round in a minute, shared by all workers of the process; each is small steps between which
    /// others get their turn. A round that fails is no reason to stop working: the next one makes it good.
    func prune() async {
        guard handle.pruneGate.tryPass() else { return }
        do {
            var request = PruneRequest()
            request.passesKept = true
            while try await handle.storage.prune(request).hasMore { try Task.checkCancellation() }
        } catch is CancellationError {
            // The worker stops, and what is left is for another one.
        } catch let error as PenstockError where error.code == .storeMoved {
            // The next claim says so.
        } catch {
            handle.logger.warning("nothing pruned; trying again in a minute", metadata: ["error": "\(error)"])
        }
    }

    /// Fires what is due.
    ///
    /// - Returns: for how long there is nothing to do.
    private func fire(_ retry: inout StoreRetry) async -> Duration {
        do {
            let next = try await handle.storage.fire()
            retry.succeeded()
            return min(RateGate.pruneInterval, max(next.map { $0 - handle.time.now } ?? .seconds(3600), .zero))
        } catch is CancellationError {
            // The worker stops, and what is due is for another one.
            return RateGate.pruneInterval
        } catch {
            // A failure that may pass passes soon, and in a minute what is due now is missed.
            let wait = retry.delay(after: error, handle) ?? RateGate.pruneInterval
            handle.logger.warning(
                "schedules not fired; trying again", metadata: ["error": "\(error)", "wait": "\(wait)"])
            return wait
        }
    }
}

/// Whether a round of pruning goes on.
private final class Round: Sendable {
    private let goesOn = Mutex(false)

    /// Begins one, unless one goes on.
    func begin() -> Bool {
        goesOn.withLock { goesOn in
            defer { goesOn = true }
            return !goesOn
        }
    }

    func end() { goesOn.withLock { $0 = false } }
}
