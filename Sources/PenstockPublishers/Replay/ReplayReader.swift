/// One reading of upstream for a shared replay, from the first subscriber's coming to the last one's leaving.
@usableFromInline final class ReplayReader<Input, Failure: Error>: Subscriber {
    private struct State: UpstreamHolder {
        var upstream = UpstreamSubscription()
    }

    private let state = Guarded(State())
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
        guard state.withLock({ $0.upstream.begin(subscription) }) else { return subscription.cancel() }
        state.ask(aheadMax.map { .max($0) } ?? .unlimited)
    }

    @usableFromInline func receive(_ input: Input) -> Subscribers.Demand {
        guard pass(input, self) else {
            state.cancelForAnother()
            return .none
        }
        return aheadMax != nil ? .max(1) : .none
    }

    @usableFromInline func receive(completion: Subscribers.Completion<Failure>) {
        _ = state.withLock { $0.upstream.end() }
        complete(completion, self)
    }

    /// Asks for more, unless it is over.
    @usableFromInline func ask(_ count: Int) { state.ask(.max(count)) }

    @usableFromInline func cancel() { state.cancelUpstream() }
}
