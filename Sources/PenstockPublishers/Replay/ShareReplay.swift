public import PenstockStreams

extension Publishers {
    /// A publisher that subscribes to another one once for all its subscribers, and replays to newcomers.
    /// Made by `shareReplay(_:backlog:onDrop:)`, whose description holds for it.
    public final class ShareReplay<Upstream: Publisher>: Publisher {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails, and a subscriber that fell behind.
        public typealias Failure = Upstream.Failure

        private let upstream: Upstream
        private let hub: ReplayHub<Output, Failure>

        init(
            _ upstream: Upstream, remembering count: Int, backlog: ReplayBacklog<Failure>,
            onDrop: @escaping (Output) -> Void
        ) {
            self.upstream = upstream
            hub = ReplayHub(remembering: count, backlog: backlog, onDrop: onDrop)
        }

        /// How many subscriptions there are.
        public var subscriberCount: Int { hub.subscriberCount }

        /// Subscribes: what is remembered now and what comes from now on goes to the subscriber.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            let newFeed = Feed<Output, Failure>(hub)
            let (name, isFirst) = hub.state.withLock { state in
                let name = state.machine.subscribe(AnySubscriber(subscriber))
                let isFirst = state.feed == nil && !state.machine.isEnded
                if isFirst { state.feed = newFeed }
                return (name, isFirst)
            }
            subscriber.receive(subscription: ReplaySubscription(hub, name))
            hub.request(0, by: name)
            // Only now, so that the first value finds what the subscriber asked for.
            if isFirst { upstream.subscribe(newFeed) }
        }
    }
}

/// One reading of upstream, from the first subscriber's coming to the last one's leaving.
private final class Feed<Input, Failure: Error>: Subscriber, ReplayFeed {
    private enum Phase {
        case new
        case open(any Subscription)
        case over
    }

    private let hub: ReplayHub<Input, Failure>
    private let phase = Guarded(Phase.new)
    /// How many values upstream is asked for ahead of those that were sent on: only those who are made to wait for it
    /// limit that.
    private let aheadMax: Int?

    init(_ hub: ReplayHub<Input, Failure>) {
        self.hub = hub
        if case .suspendSender = hub.backlog.whenFull { aheadMax = hub.backlog.limit } else { aheadMax = nil }
    }

    func receive(subscription: any Subscription) {
        let isWanted = phase.withLock { phase in
            guard case .new = phase else { return false }
            phase = .open(subscription)
            return true
        }
        guard isWanted else { return subscription.cancel() }
        subscription.request(aheadMax.map { .max($0) } ?? .unlimited)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        guard case .open(let subscription) = phase.withLock({ $0 }) else { return .none }
        var isSent = true
        hub.perform { state in
            // Of a reading that somebody else has taken the place of, nothing counts any more.
            guard state.feed === self else { return .init() }
            let sending = state.machine.send(input, .upstream(subscription))
            isSent = sending.isSent
            return sending.outcome
        }
        return aheadMax != nil && isSent ? .max(1) : .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        phase.withLock { $0 = .over }
        hub.perform { state in
            guard state.feed === self else { return .init() }
            return state.machine.complete(completion)
        }
    }

    func cancel() {
        let old = phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
        if case .open(let subscription) = old { subscription.cancel() }
    }
}

extension Publisher {
    /// Subscribes upstream once for all subscribers, and gives each newcomer the last `count` values first.
    ///
    /// - Subscribes upstream when the first subscriber comes, and cancels it when the last one leaves. What is
    ///   remembered stays. The next subscriber gets it, and upstream is subscribed anew.
    /// - Gives a newcomer what is remembered, and then what comes from its subscription on: in upstream's order, and
    ///   none twice.
    /// - Gives each subscriber exactly as many values as it asks for, and keeps the others for it, within the bound
    ///   that `backlog` names. With `suspendSender` upstream is asked for one backlog ahead and for one more with each
    ///   value that all have room for; otherwise for everything.
    /// - Gives everybody upstream's completion after the values before it. A later newcomer gets what is remembered,
    ///   and that same completion.
    ///
    /// ```swift
    /// let shared = prices.shareReplay(1)
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many values are remembered for newcomers, 0 or more.
    ///   - backlog: how many values may wait for a slow subscriber, and what happens then.
    ///   - onDrop: told of each value that a subscriber lost, once for each of these.
    public func shareReplay(
        _ count: Int,
        backlog: ReplayBacklog<Failure> = .suspendSender(at: 256),
        onDrop: @escaping (Output) -> Void = { _ in }
    ) -> Publishers.ShareReplay<Self> {
        Publishers.ShareReplay(self, remembering: count, backlog: backlog, onDrop: onDrop)
    }
}
