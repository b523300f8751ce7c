internal import PenstockCore
internal import Synchronization

/// The leases that one reader of a queue holds: claimed, and not settled.
final class InFlight: Sendable {
    private struct Entry {
        var lease: Lease
        /// When the lease ends, unless it is extended. Reckoned from before the claim, so never too late.
        var ends: BootTime
        /// Whether this one is extended with the others.
        var isExtended = true
    }

    private struct State {
        var entries: [LeaseToken: Entry] = [:]
        /// The work on their messages, until it has left: that may be long after the lease was settled or lost. Two streams
        /// may work on one message.
        var runs: [LeaseToken: [HandlerRun]] = [:]
        /// Opens when a lease comes, for a task that found that there is none.
        var arrival: Latch?
        /// Whether every further run is given up at once.
        var isDismissed = false
    }

    private let state = Mutex(State())
    private let time: any TimeSource
    /// Rings whenever a lease is gone. `Wakeups` are by queue; this is only ever about one.
    private let departures = Wakeups()
    private let queue: QueueName
    /// Whether a lease that ended is no longer counted. So it is when nobody tends the leases: a delivery that was let
    /// go then holds its place just as long as its message in the store. A worker knows what it still runs.
    private let forgetsEnded: Bool

    init(queue: QueueName, time: any TimeSource, forgetsEnded: Bool) {
        self.queue = queue
        self.time = time
        self.forgetsEnded = forgetsEnded
    }

    func add(_ leases: [Lease], ending ends: BootTime) {
        if leases.isEmpty { return }
        let arrival = state.withLock { state in
            for lease in leases { state.entries[lease.token] = Entry(lease: lease, ends: ends) }
            defer { state.arrival = nil }
            return state.arrival
        }
        arrival?.open()
    }

    /// Returns when there is a lease, at once when there is one already.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
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
        let wasThere = state.withLock { $0.entries.removeValue(forKey: lease.token) != nil }
        if wasThere { departures.ring(queue) }
        return wasThere
    }

    /// Takes the leases out, as they were settled or lost.
    func remove(_ leases: [Lease]) {
        state.withLock { state in
            for lease in leases { state.entries[lease.token] = nil }
        }
        departures.ring(queue)
    }

    /// Says that these leases are about to be settled: no extension that comes just after it finds them gone, and takes
    /// them for lost.
    ///
    /// - Returns: for each whether it is still held.
    func beginSettling(_ leases: [Lease]) -> [Bool] {
        state.withLock { state in
            leases.map { lease in
                guard state.entries[lease.token] != nil else { return false }
                state.entries[lease.token]?.isExtended = false
                return true
            }
        }
    }

    func contains(_ lease: Lease) -> Bool {
        state.withLock { $0.entries[lease.token] != nil }
    }

    /// Whether the lease is held and has not ended.
    func lives(_ lease: Lease) -> Bool {
        let now = time.boot
        return state.withLock { $0.entries[lease.token]?.ends.left(at: now) != nil }
    }

    /// Takes out all that are left.
    func removeAll() -> [Lease] {
        let left = state.withLock { state in
            defer { state.entries = [:] }
            return state.entries.values.map(\.lease)
        }
        departures.ring(queue)
        return left
    }

    func moveEnd(of lease: Lease, to ends: BootTime) {
        state.withLock { $0.entries[lease.token]?.ends = ends }
    }

    // MARK: Runs

    /// Says that `run` works on its message: the lease is held until it is taken out, also when the store has stalled for
    /// so long that its end has passed. After ``dismiss()`` the run is given up at once.
    ///
    /// - Returns: whether the lease is held.
    @discardableResult
    func begin(_ run: HandlerRun) -> Bool {
        let (isHeld, isDismissed) = state.withLock { state in
            let isHeld = state.entries[run.lease.token] != nil
            if isHeld { state.runs[run.lease.token, default: []].append(run) }
            return (isHeld, state.isDismissed)
        }
        if isHeld, isDismissed { run.end(.givenUp) }
        return isHeld
    }

    /// Says that the run has left its message. Each run that has begun comes to this: it may hold on to its reader.
    func endRun(_ run: HandlerRun) {
        state.withLock { state in
            state.runs[run.lease.token]?.removeAll { $0 === run }
            if state.runs[run.lease.token]?.isEmpty == true { state.runs[run.lease.token] = nil }
        }
    }

    func runs(on lease: Lease) -> [HandlerRun] {
        state.withLock { $0.runs[lease.token] ?? [] }
    }

    /// Gives up all runs, and every one that is still to come: also those whose lease is settled or lost.
    func dismiss() {
        let runs = state.withLock { state in
            state.isDismissed = true
            return state.runs.values.flatMap(\.self)
        }
        for run in runs { run.end(.givenUp) }
    }

    /// Whether ``dismiss()`` was called.
    var isDismissed: Bool { state.withLock { $0.isDismissed } }

    // MARK: Extending

    /// Says whether whoever extends all leases is to extend this one.
    func setExtended(_ isExtended: Bool, _ lease: Lease) {
        state.withLock { $0.entries[lease.token]?.isExtended = isExtended }
    }

    func isExtended(_ lease: Lease) -> Bool {
        state.withLock { $0.entries[lease.token]?.isExtended == true }
    }

    /// The leases that are to be extended.
    ///
    /// - Parameter onlyOfRuns: whether only those of messages that a run works on.
    func extended(onlyOfRuns: Bool) -> [Lease] {
        state.withLock { state in
            state.entries.compactMap { token, entry in
                entry.isExtended && !(onlyOfRuns && state.runs[token] == nil) ? entry.lease : nil
            }
        }
    }

    /// How many leases are held now.
    func count() -> Int {
        state.withLock { state in
            if forgetsEnded {
                let boot = time.boot
                state.entries = state.entries.filter { token, entry in
                    state.runs[token] != nil || entry.ends.left(at: boot) != nil
                }
            }
            return state.entries.count
        }
    }

    /// What to hand to ``waitForDeparture(after:)``.
    var token: Wakeups.Token { departures.token(for: queue) }

    /// Returns when a lease was settled or lost after `token` was taken, or one has ended.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    func waitForDeparture(after token: Wakeups.Token) async throws {
        guard forgetsEnded, let next = nextEnd() else { return try await departures.wait(for: queue, after: token) }
        try await firstOf([
            { [departures, queue] in try await departures.wait(for: queue, after: token) },
            { [time] in try await time.sleep(for: next) },
        ])
    }

    private func nextEnd() -> Duration? {
        let boot = time.boot
        return state.withLock { $0.entries.values.compactMap { $0.ends.left(at: boot) }.min() }
    }
}
