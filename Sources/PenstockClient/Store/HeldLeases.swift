import PenstockCore
import Synchronization

/// What was claimed through a client and is still held, as far as the client knows.
final class HeldLeases: Sendable {
    private let leases = Mutex<Set<Lease>>([])

    /// A claim gave these.
    func add(_ more: [Lease]) {
        if !more.isEmpty { leases.withLock { $0.formUnion(more) } }
    }

    /// These are held no more.
    func remove(_ ended: some Sequence<Lease>) { leases.withLock { $0.subtract(ended) } }

    /// What is held. From now on it is not.
    func takeAll() -> [Lease] {
        leases.withLock { leases in
            defer { leases = [] }
            return Array(leases)
        }
    }
}
