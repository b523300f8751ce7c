internal import Synchronization

/// Whether a ``Worker`` has messages in its hands, for a program that may end its process only when it has none.
///
/// The worker itself counts, as no store can tell all workers apart: what a client of a server holds is a remote worker's, of which no
/// process is known, and a token for some queues sees no workers at all.
package final class HeldLeases: Sendable {
    private let inFlight = Mutex<InFlight?>(nil)

    /// Makes one that is empty until a worker has it and runs.
    package init() {}

    /// Whether no message is claimed that is not settled. One whose verdict is still on its way to the store is held.
    package var isEmpty: Bool { inFlight.withLock { $0?.holds(moreThan: 0) != true } }

    /// Tells of these from now on.
    func watch(_ inFlight: InFlight) { self.inFlight.withLock { $0 = inFlight } }
}
