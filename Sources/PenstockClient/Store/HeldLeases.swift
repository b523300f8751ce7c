import PenstockCore
import Synchronization

/// What was claimed through a client and is still held, as far as the client knows.
///
/// A lease whose time is over comes back without the client, and is forgotten: a program may let deliveries go that it has not settled.
final class HeldLeases: Sendable {
    private struct State {
        var ends: [Lease: BootTime] = [:]
        /// How many leases there are when those are looked for whose time is over.
        var sweepCount = HeldLeases.sweepCountMin
    }

    /// So few cost nothing.
    static let sweepCountMin = 1000

    private let state = Mutex(State())
    private let time: any TimeSource

    init(time: any TimeSource) { self.time = time }

    var count: Int { state.withLock { $0.ends.count } }

    /// A claim gave these, for so long.
    func add(_ more: [Lease], for duration: Duration) {
        if more.isEmpty { return }
        let now = time.boot
        state.withLock { state in
            for lease in more { state.ends[lease] = now + duration }
            guard state.ends.count >= state.sweepCount else { return }
            state.ends = state.ends.filter { $0.value.left(at: now) != nil }
            state.sweepCount = max(Self.sweepCountMin, 2 * state.ends.count)
        }
    }

    /// The lease lasts for so long from now; one that lasts longer may be kept.
    func extend(_ lease: Lease, by duration: Duration, keepsLonger: Bool) {
        let end = time.boot + duration
        state.withLock { state in
            guard let before = state.ends[lease] else { return }
            if !keepsLonger || before.microseconds < end.microseconds { state.ends[lease] = end }
        }
    }

    /// These are held no more.
    func remove(_ ended: some Sequence<Lease>) {
        state.withLock { state in
            for lease in ended { state.ends[lease] = nil }
        }
    }

    /// What is held. From now on it is not.
    func takeAll() -> [Lease] {
        state.withLock { state in
            defer { state.ends = [:] }
            return Array(state.ends.keys)
        }
    }
}
