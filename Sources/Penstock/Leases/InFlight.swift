internal import PenstockCore
internal import Synchronization

/// The leases that one reader of a queue holds: claimed, and not settled.
final class InFlight: Sendable {
    struct Entry {
        var lease: Lease
        /// When the lease ends, unless it is extended. Reckoned from before the claim, so never too late.
        var ends: BootTime
        /// Whether a verdict on its message is on the way to the store. It is extended meanwhile, so that a store that stalls
        /// hears that its worker lives; that it is gone may be the verdict's doing, and means nothing.
        var isSettling = false
        /// Whether it is left to end when its time has come.
        var isEnding = false
        /// Whether the work on its message is asked to end.
        var isAsked = false

        /// Whether it is extended with the others, and its work ended when the store says that it is lost.
        var isExtended: Bool { !isSettling && !isEnding }
    }

    struct State {
        var entries: [LeaseToken: Entry] = [:]
        /// No lease ends before this.
        var firstEnd: BootTime?
        /// The work on their messages, until it has left: that may be long after the lease was settled or lost. Two streams
        /// may work on one message.
        var runs: [LeaseToken: [HandlerRun]] = [:]
        /// Opens when a lease comes, for a task that found that there is none.
        var arrival: Latch?
        /// How many leases have gone, and what opens when the next one does, for a task that found no room.
        var departedCount = 0
        var departure: Latch?
        /// Whether every further run is given up at once.
        var isDismissed = false

        mutating func mayEnd(at end: BootTime) {
            if let firstEnd, firstEnd.microseconds <= end.microseconds { return }
            firstEnd = end
        }

        /// Forgets the leases that have ended, and on whose messages no run works.
        mutating func forgetEnded(at boot: BootTime) -> [Lease] {
            guard firstEnd?.left(at: boot) == nil else { return [] }
            let ended = entries.filter { token, entry in runs[token] == nil && entry.ends.left(at: boot) == nil }
            for token in ended.keys { entries[token] = nil }
            firstEnd = nil
            for entry in entries.values { mayEnd(at: entry.ends) }
            return ended.values.map(\.lease)
        }

        /// Counts `count` leases that have gone.
        ///
        /// - Returns: what to open.
        mutating func depart(_ count: Int) -> Latch? {
            departedCount += count
            return count > 0 ? departure.take() : nil
        }
    }

    let state = Mutex(State())
    let time: any TimeSource

    init(time: any TimeSource) {
        self.time = time
    }

    func add(_ leases: [Lease], ending ends: BootTime) {
        if leases.isEmpty { return }
        let arrival = state.withLock { state in
            for lease in leases { state.entries[lease.token] = Entry(lease: lease, ends: ends) }
            state.mayEnd(at: ends)
            return state.arrival.take()
        }
        arrival?.open()
    }

    /// Returns when there is a lease, at once when there is one already; throws `CancellationError` when the task is cancelled first.
    func waitForAny() async throws {
        let arrival: Latch? = state.withLock { state in
            guard state.entries.isEmpty else { return nil }
            let arrival = state.arrival ?? Latch()
            state.arrival = arrival
            return arrival
        }
        try await arrival?.wait()
    }

    /// Takes the lease out, as it was settled or lost. Returns whether it was held.
    @discardableResult
    func remove(_ lease: Lease) -> Bool {
        let (wasThere, departure) = state.withLock { state in
            let wasThere = state.entries.removeValue(forKey: lease.token) != nil
            return (wasThere, state.depart(wasThere ? 1 : 0))
        }
        departure?.open()
        return wasThere
    }

    /// Takes the leases out, as they were settled or lost.
    func remove(_ leases: [Lease]) {
        let departure = state.withLock { state in
            for lease in leases { state.entries[lease.token] = nil }
            return state.depart(leases.count)
        }
        departure?.open()
    }

    /// Says that these leases are about to be settled: an extension that comes after the settle finds them gone.
    ///
    /// - Returns: for each whether it is still held.
    @discardableResult
    func beginSettling(_ leases: [Lease]) -> [Bool] {
        state.withLock { state in
            leases.map { lease in
                state.entries[lease.token]?.isSettling = true
                return state.entries[lease.token] != nil
            }
        }
    }

    func contains(_ lease: Lease) -> Bool { state.withLock { $0.entries[lease.token] != nil } }

    /// Whether the lease is held and has not ended.
    func lives(_ lease: Lease) -> Bool {
        let now = time.boot
        return state.withLock { $0.entries[lease.token]?.ends.left(at: now) != nil }
    }

    /// Returns when the lease has ended, or is found to be settled or lost; throws `CancellationError` when the task is cancelled first.
    func waitForEnd(of lease: Lease) async throws {
        while true {
            let now = time.boot
            let left = state.withLock { $0.entries[lease.token]?.ends.left(at: now) }
            guard let left else { return }
            try await time.sleep(for: left)
        }
    }

    /// Whether all of these that are held will live for so long.
    func live(_ leases: [Lease], for duration: Duration) -> Bool {
        let now = time.boot
        return state.withLock { state in
            leases.allSatisfy { lease in
                state.entries[lease.token].map { ($0.ends.left(at: now) ?? .zero) > duration } ?? true
            }
        }
    }

    func moveEnd(of lease: Lease, to ends: BootTime, keepsLonger: Bool = false) {
        state.withLock { state in
            let before = state.entries[lease.token]?.ends.microseconds ?? 0
            if keepsLonger, before > ends.microseconds { return }
            state.entries[lease.token]?.ends = ends
            state.mayEnd(at: ends)
        }
    }

    // MARK: Extending

    /// Says that the store has not taken the verdict, and the lease is held as before.
    func endSettling(_ lease: Lease) {
        state.withLock { $0.entries[lease.token]?.isSettling = false }
    }

    func letEnd(_ lease: Lease) {
        state.withLock { $0.entries[lease.token]?.isEnding = true }
    }

    /// Has the lease extended again: its message is not worked on any more, and the verdict is still to be taken.
    func extendAgain(_ lease: Lease) {
        state.withLock { state in
            state.entries[lease.token]?.isSettling = false
            state.entries[lease.token]?.isEnding = false
        }
    }

    var leases: [Lease] { state.withLock { $0.entries.values.map(\.lease) } }

    /// Whether the lease is to be extended with the others and, unless it is, ends before `end`, if that is given.
    func isExtended(_ lease: Lease, before end: BootTime? = nil) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[lease.token], entry.isExtended else { return false }
            return end.map { entry.ends.microseconds < $0.microseconds } ?? true
        }
    }

    /// The leases that are to be extended to `ends`. One that somebody has made longer is left as it is.
    ///
    /// - Parameter onlyOfRuns: whether only those of messages that a run works on, or that are being settled.
    func extended(to ends: BootTime, onlyOfRuns: Bool) -> [Lease] {
        state.withLock { state in
            state.entries.compactMap { token, entry in
                let isWanted = entry.isSettling || entry.isExtended && !(onlyOfRuns && state.runs[token] == nil)
                return isWanted && entry.ends.microseconds < ends.microseconds ? entry.lease : nil
            }
        }
    }

    /// How many leases are held now. One that has ended, and on whose message no run works, is forgotten: a delivery that
    /// was let go holds its place just as long as its message in the store.
    ///
    /// - Parameter leases: these are not counted.
    func count(without leases: [Lease] = []) -> Int {
        let boot = time.boot
        return state.withLock { state in
            _ = state.forgetEnded(at: boot)
            return state.entries.count - Set(leases.map(\.token)).count { state.entries[$0] != nil }
        }
    }

    /// How many leases are held now, as ``count(without:)`` says, and those that it forgets with this call. The store has these until
    /// somebody looks for lost work, and takes verdicts on their messages as long.
    func countForgetting() -> (held: Int, ended: [Lease]) {
        let boot = time.boot
        return state.withLock { state in
            let ended = state.forgetEnded(at: boot)
            return (state.entries.count, ended)
        }
    }

    /// Whether more than `count` leases are held, those that have ended included. Forgets none.
    func holds(moreThan count: Int) -> Bool { state.withLock { $0.entries.count > count } }

    /// Lets the task that waits for a departure look again.
    func ringDeparture() { state.withLock { $0.depart(1) }?.open() }

    /// How many leases have gone, to be handed to ``waitForDeparture(after:)``.
    var departedCount: Int { state.withLock { $0.departedCount } }

    /// Returns when a lease was settled or lost after so many had gone, or one has ended; throws `CancellationError` when the
    /// task is cancelled first.
    func waitForDeparture(after count: Int) async throws {
        let departure: Latch? = state.withLock { state in
            guard state.departedCount == count else { return nil }
            let departure = state.departure ?? Latch()
            state.departure = departure
            return departure
        }
        guard let departure else { return }
        guard let next = nextEnd() else { return try await departure.wait() }
        try await firstOf([{ try await departure.wait() }, { [time] in try await time.sleep(for: next) }])
    }

    private func nextEnd() -> Duration? {
        let boot = time.boot
        return state.withLock { state in
            state.entries.compactMap { token, entry in
                // One that has ended since the look before counts no more, but for one on whose message a run works.
                entry.ends.left(at: boot) ?? (state.runs[token] == nil ? .zero : nil)
            }.min()
        }
    }
}
