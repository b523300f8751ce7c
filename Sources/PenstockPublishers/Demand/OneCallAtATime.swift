/// A subscription that is called by one thread at a time, as ``UpstreamSubscription`` has it.
///
/// The port's `Just` and its like, of which inner publishers are often made, bear nothing else. It is for subscriptions
/// that are asked for one value at a time, as only those return soon.
final class OneCallAtATime: Subscription {
    private struct State: UpstreamHolder {
        var upstream = UpstreamSubscription()
    }

    private let state = Guarded(State())

    init(_ subscription: any Subscription) {
        _ = state.withLock { $0.upstream.begin(subscription) }
    }

    func request(_ demand: Subscribers.Demand) { state.ask(demand) }

    func cancel() { state.cancelUpstream() }
}
