internal import Metrics
internal import PenstockCore
internal import Synchronization

/// Takes care of the deliveries that a stream works on: extends their leases until their work has ended, and settles
/// them then as a ``Worker`` does.
package final class Tending<Element: Sendable>: Sendable {
    /// How the work on a delivery ended.
    package enum WorkEnd: Sendable {
        /// It is done.
        case finished
        /// It is to be tried again, or not, as the error says and the queue's policy.
        case failed(any Error)
        /// Nobody works on it any more: it goes back in line, and the attempt does not count.
        case givenUp
    }

    /// What became of a delivery.
    package enum Outcome: Sendable {
        case settled
        /// Its lease was lost, while it was worked on or as it was settled.
        case lost
        /// The store could not be told.
        case unsettled(any Error)
    }

    /// One delivery that is taken care of.
    package struct Tended: Sendable {
        fileprivate let job: Job

        /// Says how the work ended. The first word counts.
        package func end(_ end: WorkEnd) {
            switch end {
            case .finished: job.end(.returned)
            case .failed(let error): job.end(.threw(error))
            case .givenUp: job.end(.givenUp)
            }
        }
    }

    private let crew = Crew()
    /// The readers whose leases are extended.
    private let readers = Mutex<Set<ObjectIdentifier>>([])

    /// Makes one that has nothing to take care of.
    package init() {}

    /// Begins to take care of a delivery. Returns also whether it is the first of its reader: then the caller runs
    /// ``keepLeases(of:)`` until nothing of that reader is worked on any more.
    package func begin(_ delivery: Delivery<Element>) -> (tended: Tended, isFirst: Bool) {
        let job = Job(delivery.lease)
        crew.add(job)
        let reader = ObjectIdentifier(delivery.holder.inFlight)
        return (Tended(job: job), readers.withLock { $0.insert(reader).inserted })
    }

    /// Waits until the work on the delivery has ended, and settles it. Cancelling the task does nothing.
    ///
    /// - Parameter onLost: called when the lease is lost while the work goes on.
    package func finish(_ delivery: Delivery<Element>, _ tended: Tended, onLost: @Sendable () -> Void) async -> Outcome
    {
        defer { crew.remove(tended.job) }
        let (lease, holder) = (delivery.lease, delivery.holder)
        let began = holder.handle.time.boot
        holder.metrics.running.increment()
        let end = await tended.job.ended()
        holder.metrics.running.decrement()
        holder.metrics.work.recordMicroseconds(holder.handle.time.boot.microseconds - began.microseconds)
        guard let verdict = end.verdict else {
            holder.inFlight.remove(lease)
            holder.metrics.leaseLost.increment()
            onLost()
            return .lost
        }
        // It may have been settled by hand.
        guard holder.inFlight.contains(lease) else { return .settled }
        do {
            try await holder.settleWhileHeld(lease, verdict)
            return .settled
        } catch let error as PenstockError where error.code == .leaseLost {
            return .lost
        } catch {
            // The lease is extended no more, and the message comes back when it ends.
            holder.inFlight.remove(lease)
            return .unsettled(error)
        }
    }

    /// Extends the leases of all that came from where `delivery` did, until the task is cancelled.
    package func keepLeases(of delivery: Delivery<Element>) async {
        await LeaseKeeper(holder: delivery.holder, crew: crew, onlyOfCrew: true).run()
    }
}
