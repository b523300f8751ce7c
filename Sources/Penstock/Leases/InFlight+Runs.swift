internal import PenstockCore
internal import Synchronization

/// The work on the messages of the leases, and what it is told.
extension InFlight {
    /// Says that `run` works on its message: the lease is held until it is taken out, also when the store has stalled for
    /// so long that its end has passed. After ``dismiss()`` the run is given up at once.
    ///
    /// - Returns: whether the lease is held.
    @discardableResult
    func begin(_ run: HandlerRun) -> Bool {
        let (entry, isDismissed) = state.withLock { state in
            let entry = state.entries[run.lease.token]
            if entry != nil { state.runs[run.lease.token, default: []].append(run) }
            return (entry, state.isDismissed)
        }
        guard let entry else { return false }
        if isDismissed { run.end(.givenUp) }
        if entry.isAsked { run.ask() }
        return true
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

    /// Whether a run works on a message, or a verdict is on its way.
    var isWorkedOn: Bool {
        state.withLock { !$0.runs.isEmpty || $0.entries.values.contains(where: \.isSettling) }
    }

    /// The lease is not this process's any more: the work on its message is ended, which takes the lease out.
    func lose(_ lease: Lease) {
        let runs = runs(on: lease)
        if runs.isEmpty { remove(lease) }
        for run in runs { run.end(.leaseLost) }
    }

    /// Somebody wants the message cancelled: the work on it is asked to end, once.
    func ask(_ lease: Lease) {
        let runs = state.withLock { state -> [HandlerRun] in
            guard state.entries[lease.token]?.isAsked == false else { return [] }
            state.entries[lease.token]?.isAsked = true
            return state.runs[lease.token] ?? []
        }
        for run in runs { run.ask() }
    }

    /// Whether somebody wants the message cancelled, as far as this process knows.
    func isAsked(_ lease: Lease) -> Bool { state.withLock { $0.entries[lease.token]?.isAsked == true } }

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
}
