internal import Logging
internal import Metrics
internal import PenstockCore
internal import Synchronization

/// What became of a delivery.
package enum SettleOutcome: Sendable {
    case settled
    /// It comes back, or another reader has it: the lease was lost, or could not be given back.
    case lost
    /// The store could not be told how the work ended.
    case unsettled(any Error)
}

/// Takes care of the deliveries that a stream works on: extends their leases until the work has ended, and settles them
/// then as a ``Worker`` does.
package final class LeaseSettler<Element: Sendable>: Sendable {
    /// The readers whose leases are extended.
    private let readers = Mutex<Set<ObjectIdentifier>>([])

    /// Makes one that has nothing to take care of.
    package init() {}

    /// Begins to take care of a delivery.
    ///
    /// - Returns: `keepLeases` is given when nobody extends leases for the reader that the delivery comes from. The caller runs it in a task:
    ///   it extends those of all that came from there and is worked on, also by others, until nothing is any more or the task is cancelled.
    ///   `hasLease` is false when the lease has ended while the delivery waited, in a buffer in memory say: its message is
    ///   another reader's, or comes again. The run is over then, and no work is to begin.
    package func begin(_ delivery: Delivery<Element>) -> (
        run: HandlerRun, keepLeases: (@Sendable () async -> Void)?, hasLease: Bool
    ) {
        let run = HandlerRun(delivery.lease, leavesByItself: false)
        let inFlight = delivery.holder.inFlight
        // What the program has settled by itself has no lease, and is worked on as the program says.
        guard delivery.journal.isSettled || inFlight.lives(delivery.lease) else {
            run.end(.leaseLost)
            return (run, nil, false)
        }
        inFlight.begin(run)
        return (run, keeping(of: delivery.holder), true)
    }

    /// A stream may go through one reader after the other for weeks, so a keeper ends with the work on what its reader gave.
    private func keeping(of holder: LeaseHolder) -> (@Sendable () async -> Void)? {
        let reader = ObjectIdentifier(holder.inFlight)
        guard readers.withLock({ $0.insert(reader).inserted }) else { return nil }
        let keeper = LeaseKeeper(holders: [holder], onlyOfRuns: true) { [self] in
            // Out before the look: a run that begins after it finds no keeper, and its caller is given another.
            _ = readers.withLock { $0.remove(reader) }
            guard holder.inFlight.isWorkedOn else { return true }
            return !readers.withLock { $0.insert(reader).inserted }
        }
        return { await keeper.run() }
    }

    /// Waits until the work on the delivery has ended or its lease is lost. Cancelling the task does nothing.
    package func ended(_ delivery: Delivery<Element>, _ run: HandlerRun) async -> HandlerEnd {
        let (metrics, time) = (delivery.holder.metrics, delivery.holder.handle.time)
        let began = time.boot
        metrics.running.increment()
        let end = await run.ended()
        metrics.running.decrement()
        metrics.work.recordMicroseconds(time.boot.microseconds - began.microseconds)
        return end
    }

    /// Settles a delivery whose work has ended, or never begins. Its lease is extended until that is done.
    ///
    /// - Parameter inLine: called once, when a claim that is made then does not overtake the verdict: mostly it goes in the same
    ///   transaction.
    package func settle(
        _ delivery: Delivery<Element>, _ end: HandlerEnd, of run: HandlerRun? = nil, inLine: () -> Void = {}
    ) async -> SettleOutcome {
        let (lease, holder, end) = (delivery.lease, delivery.holder, delivery.journal.end(end))
        defer { if let run { holder.inFlight.endRun(run) } }
        guard let verdict = end.verdict else {
            holder.inFlight.remove(lease)
            inLine()
            holder.metrics.leaseLost.increment()
            log(delivery, "lease lost; what its work gave may be given again")
            return .lost
        }
        // It may have been settled by hand.
        guard holder.inFlight.contains(lease) else {
            inLine()
            return .settled
        }
        do {
            let state = try await holder.settleWhileHeld(Settlement(lease, verdict), inLine: inLine)
            if let state, let error = end.failure {
                log(delivery, state.whyNotDone, error)
            }
            return .settled
        } catch let error as PenstockError where error.code == .leaseLost {
            log(delivery, "lease lost; what its work gave may be given again")
            return .lost
        } catch {
            // The lease is extended no more, and the message comes back when it ends.
            holder.inFlight.remove(lease)
            guard case .givenUp = end else { return .unsettled(error) }
            log(delivery, "message not given back; it comes back when its lease ends", error)
            return .lost
        }
    }

    private func log(_ delivery: Delivery<Element>, _ message: Logger.Message, _ error: (any Error)? = nil) {
        var metadata: Logger.Metadata = ["queue": "\(delivery.queue)", "sequence": "\(delivery.sequence)"]
        if let error { metadata["error"] = "\(error)" }
        delivery.holder.handle.logger.warning(message, metadata: metadata)
    }
}
