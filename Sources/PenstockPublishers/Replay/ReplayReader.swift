/// One reading of upstream for a shared replay, from the first subscriber's coming to the last one's leaving.
@usableFromInline final class ReplayReader<Input, Failure: Error>: Subscriber {
    private enum Phase {
        case new
        case open(any Subscription)
        case over
    }

    private let phase = Guarded(Phase.new)
    /// How many values upstream is asked for ahead of those that were sent on; without limit, if nothing waits for that.
    private let aheadMax: Int?
    /// Sends a value on. Returns whether there was room for it.
    private let pass: (Input, ReplayReader) -> Bool
    private let complete: (Subscribers.Completion<Failure>, ReplayReader) -> Void

    @usableFromInline init(
        aheadMax: Int?, pass: @escaping (Input, ReplayReader) -> Bool,
        complete: @escaping (Subscribers.Completion<Failure>, ReplayReader) -> Void
    ) {
        self.aheadMax = aheadMax
        self.pass = pass
        self.complete = complete
    }

    @usableFromInline func receive(subscription: any Subscription) {
        let isWanted = phase.withLock { phase in
            guard case .new = phase else { return false }
            phase = .open(subscription)
            return true
        }
        guard isWanted else { return subscription.cancel() }
        subscription.request(aheadMax.map { .max($0) } ?? .unlimited)
    }

    @usableFromInline func receive(_ input: Input) -> Subscribers.Demand {
        let hasRoom = pass(input, self)
        return aheadMax != nil && hasRoom ? .max(1) : .none
    }

    @usableFromInline func receive(completion: Subscribers.Completion<Failure>) {
        _ = close()
        complete(completion, self)
    }

    /// Asks for more, unless it is over.
    @usableFromInline func ask(_ count: Int) {
        guard case .open(let subscription) = phase.withLock({ $0 }) else { return }
        subscription.request(.max(count))
    }

    @usableFromInline func cancel() {
        if case .open(let subscription) = close() { subscription.cancel() }
    }

    /// Returns what it was, to be let go where no lock is held.
    private func close() -> Phase {
        phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
    }
}
