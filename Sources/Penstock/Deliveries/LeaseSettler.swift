internal import Logging
internal import Metrics
internal import PenstockCore
internal import Synchronization

/// Takes care of the deliveries that a stream works on: extends their leases until the work has ended, and settles them
/// then as a ``Worker`` does.
package final class LeaseSettler<Element: Sendable>: Sendable {
    /// How the work on a delivery ended.
    package enum WorkEnd: Sendable {
        /// It is done.
        case finished
        /// It is to be tried again, or not, as the error says and the queue's policy.
        case failed(any Error)
        /// Nobody works on it any more: it goes back in line, and the attempt does not count.
        case givenUp
        /// The message is not this stream's any more.
        case lost
    }

    /// What became of a delivery.
    package enum Outcome: Sendable {
        case settled
        /// It comes back, or another reader has it: the lease was lost, or could not be given back.
        case lost
        /// The store could not be told how the work ended.
        case unsettled(any Error)
    }

    /// The work on one delivery.
    package struct Work: Sendable {
        fileprivate let run: HandlerRun

        /// Says how the work ended. The first word counts.
        package func end(_ end: WorkEnd) {
            run.end(end.handlerEnd)
        }
    }

    private let runs = HandlerRuns()
    /// The readers whose leases are extended.
    private let readers = Mutex<Set<ObjectIdentifier>>([])

    /// Makes one that has nothing to take care of.
    package init() {}

    /// Begins to take care of a delivery. Returns also whether it is the first of its reader: then the caller runs
    /// ``keepLeases(of:)`` until nothing of that reader is worked on any more.
    package func begin(_ delivery: Delivery<Element>) -> (work: Work, isFirst: Bool) {
        let run = HandlerRun(delivery.lease)
        runs.add(run)
        delivery.holder.inFlight.beginWork(on: delivery.lease)
        let reader = ObjectIdentifier(delivery.holder.inFlight)
        return (Work(run: run), readers.withLock { $0.insert(reader).inserted })
    }

    /// Waits until the work on the delivery has ended or its lease is lost. Cancelling the task does nothing.
    package func ended(_ delivery: Delivery<Element>, _ work: Work) async -> WorkEnd {
        let (metrics, time) = (delivery.holder.metrics, delivery.holder.handle.time)
        let began = time.boot
        metrics.running.increment()
        let end = await work.run.ended()
        metrics.running.decrement()
        metrics.work.recordMicroseconds(time.boot.microseconds - began.microseconds)
        return WorkEnd(end)
    }

    /// Settles a delivery whose work has ended, or never begins. Its lease is extended until that is done.
    package func settle(_ delivery: Delivery<Element>, _ end: WorkEnd, of work: Work? = nil) async -> Outcome {
        defer { if let work { runs.remove(work.run) } }
        let (lease, holder) = (delivery.lease, delivery.holder)
        guard let verdict = end.handlerEnd.verdict else {
            holder.inFlight.remove(lease)
            holder.metrics.leaseLost.increment()
            log(delivery, "lease lost; what its work gave may be given again")
            return .lost
        }
        // It may have been settled by hand.
        guard holder.inFlight.contains(lease) else { return .settled }
        do {
            let state = try await holder.settleWhileHeld(lease, verdict)
            if case .failed(let error) = end {
                log(delivery, state == .dead ? "message is a dead letter" : "attempt failed; message comes back", error)
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

    /// Extends the leases of all that came from where `delivery` did, until the task is cancelled.
    package func keepLeases(of delivery: Delivery<Element>) async {
        await LeaseKeeper(holder: delivery.holder, runs: runs, onlyOfRuns: true).run()
    }
}

extension LeaseSettler.WorkEnd {
    fileprivate init(_ end: HandlerEnd) {
        switch end {
        case .returned: self = .finished
        case .threw(let error), .undecodable(let error): self = .failed(error)
        case .givenUp, .timedOut: self = .givenUp
        case .leaseLost: self = .lost
        }
    }

    fileprivate var handlerEnd: HandlerEnd {
        switch self {
        case .finished: .returned
        case .failed(let error): .threw(error)
        case .givenUp: .givenUp
        case .lost: .leaseLost
        }
    }
}
