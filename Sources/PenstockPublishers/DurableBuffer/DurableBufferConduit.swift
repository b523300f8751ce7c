internal import Penstock
internal import PenstockStreams

/// One subscription to a durable buffer: the engine, between upstream and one subscriber.
///
/// What is to be asked of upstream at first is known when the queue is open, as an earlier subscription may have left
/// values there. The thread that asks first waits for that: so a subject loses nothing that it would not lose in
/// memory.
// Its state is behind a lock, and the subscriber hears from the engine's task alone.
final class DurableBufferConduit<Element: Sendable>: Subscription, @unchecked Sendable {
    typealias Downstream = AnySubscriber<Delivery<Element>, any Error>

    private struct State: UpstreamHolder {
        var downstream: Downstream?
        var upstream = UpstreamSubscription()
        var held = HeldDemand()
        var hasBegun = false
        /// The engine's thread while it speaks to the subscriber.
        var speaker: ThreadName?
        /// What upstream is to be asked for by the thread that waits for the queue; `nil` when none does.
        var firstAsk: Int? = 0
        var isOpen = false
        /// How upstream ended before the queue was open.
        var completion: Completion<any Error>?
    }

    private let state: Guarded<State>
    private let engine: BufferEngine<Element>
    private let opened = Gate()
    private let executor = StreamExecutor.current

    init(_ downstream: Downstream, queue: Queue<Element>, options: BufferEngine<Element>.Options) {
        state = Guarded(State(downstream: downstream))
        let relay = Relay<DurableBufferConduit>()
        engine = BufferEngine(
            queue: queue, options: options,
            outlets: .init(
                ask: { relay.target?.ask($0) },
                give: { deliveries in deliveries.allSatisfy { relay.target?.give($0) ?? false } }, givesToCode: true,
                cancelUpstream: { relay.target?.state.cancelUpstream() },
                opened: { relay.target?.open() }))
        relay.target = self
    }

    // MARK: Downstream

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none, !state.withLock({ $0.held.hold(demand) }) else { return }
        engine.request(demand.count)
        let begins = state.withLock { state in
            guard !state.hasBegun, state.downstream != nil else { return false }
            state.hasBegun = true
            return true
        }
        guard begins else { return }
        Task(executorPreference: executor) {
            let failure = await StreamExecutor.$engine.withValue(ObjectIdentifier(self)) { await self.engine.run() }
            self.end(failure)
        }
        StreamExecutor.wait { opened.pass() }
        askUpstream(state.withLock { $0.firstAsk.take() ?? 0 })
    }

    func cancel() {
        let (upstream, downstream) = state.withLock { ($0.upstream.cancel(), $0.downstream.take()) }
        upstream?.cancel()
        engine.cancel()
        opened.open()
        // It may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime(downstream) {}
    }

    // MARK: The engine

    private func open() {
        let completion = state.withLock { state in
            state.isOpen = true
            return state.completion.take()
        }
        opened.open()
        if let completion { complete(completion) }
    }

    private func ask(_ count: Int) {
        let isLeftToTheFirst = state.withLock { state in
            guard let first = state.firstAsk else { return false }
            state.firstAsk = first.addingUpToMax(count)
            return true
        }
        if isLeftToTheFirst { return }
        guard StreamExecutor.engine == ObjectIdentifier(self) else { return askUpstream(count) }
        Task.detached(executorPreference: executor) { self.askUpstream(count) }
    }

    private func askUpstream(_ count: Int) { state.ask(Subscribers.Demand(count: count)) }

    private func give(_ delivery: Delivery<Element>) -> Bool {
        let downstream = state.withLock { state in
            state.speaker = .current
            return state.downstream
        }
        defer { state.withLock { $0.speaker = nil } }
        guard let downstream else { return false }
        let more = downstream.receive(delivery).count
        if more > 0 { engine.request(more) }
        return true
    }

    private func end(_ failure: (any Error)?) {
        opened.open()
        let (upstream, downstream) = state.withLock { ($0.upstream.cancel(), $0.downstream.take()) }
        upstream?.cancel()
        downstream?.receive(completion: .init(failure: failure))
    }

    // MARK: Upstream

    private func begin(_ subscription: any Subscription) {
        let (isFirst, downstream) = state.withLock { ($0.upstream.begin(subscription), $0.downstream) }
        guard isFirst, let downstream else { return subscription.cancel() }
        downstream.receive(subscription: self)
        request(state.withLock { $0.held.letGo() })
    }

    private func arrived(_ element: Element) {
        state.cancelForAnother()
        engine.arrived(element)
        // The engine's own thread is here when a subscriber sends into its own source: it would wait for itself. A task
        // that was begun there is another's, which may wait.
        guard state.withLock({ $0.speaker }) != .current else { return }
        engine.waitForStaging { StreamExecutor.wait($0) }
    }

    private func upstreamEnded(_ completion: Completion<any Error>) {
        let (isOpen, upstream) = state.withLock { state in
            if !state.isOpen { state.completion = completion }
            return (state.isOpen, state.upstream.end())
        }
        if isOpen { complete(completion) }
        withExtendedLifetime(upstream) {}
    }

    private func complete(_ completion: Completion<any Error>) {
        switch completion {
        case .finished: engine.upstreamFinished()
        case .failed(let error): engine.upstreamFailed(error)
        }
    }

    /// The side that upstream sees.
    struct Intake<Failure: Error>: Subscriber {
        let combineIdentifier = CombineIdentifier()
        let conduit: DurableBufferConduit

        func receive(subscription: any Subscription) {
            conduit.begin(subscription)
        }

        func receive(_ input: Element) -> Subscribers.Demand {
            conduit.arrived(input)
            return .none
        }

        func receive(completion: Subscribers.Completion<Failure>) {
            switch completion {
            case .finished: conduit.upstreamEnded(.finished)
            case .failure(let error): conduit.upstreamEnded(.failed(error))
            }
        }
    }
}
