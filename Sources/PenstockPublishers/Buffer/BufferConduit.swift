public import PenstockStreams

/// One subscription to a buffer: the lock around the core, between upstream and one subscriber.
///
/// One thread at a time speaks to the subscriber. A call that has something for it meanwhile, on another thread or further
/// down this one's stack, leaves it in the core, and the thread that speaks says it next. So `receive`, `request` and `cancel`
/// may race and re-enter, and nothing recurses. Upstream is asked only by a thread that has said everything: a source that
/// answers at once then finds every earlier value delivered, and the demand that came of it.
@usableFromInline
final class BufferConduit<Input, Failure: Error>: Conduit {
    @usableFromInline typealias Downstream = SubscriberReference<Input, Failure>
    @usableFromInline typealias Core = BufferCore<Input, Failure>

    /// What a thread is to do next.
    @usableFromInline
    enum Action {
        case say(Core.Step, to: Downstream)
        /// Ask upstream for so many values: nothing is left that this thread is to say.
        case ask(Int)
    }

    @usableFromInline
    struct State: UpstreamHolder {
        @usableFromInline var core: Core
        @usableFromInline var downstream: Downstream?
        @usableFromInline var upstream = UpstreamSubscription()
        @usableFromInline var isSpeaking = false

        @inlinable init(core: Core, downstream: Downstream) {
            self.core = core
            self.downstream = downstream
        }

        /// What the thread does next that begins to speak or goes on with it; to ask ends that.
        @inlinable mutating func speak() -> Action {
            guard let downstream, let step = core.next() else {
                isSpeaking = false
                return .ask(core.takeAsk())
            }
            isSpeaking = true
            return .say(step, to: downstream)
        }
    }

    @usableFromInline let state: Guarded<State>
    @usableFromInline let whenFull: Publishers.BufferingStrategy<Failure>
    @usableFromInline let onDrop: ((Input) -> Void)?

    @inlinable init(
        _ downstream: AnySubscriber<Input, Failure>, core: Core, whenFull: Publishers.BufferingStrategy<Failure>,
        onDrop: ((Input) -> Void)?
    ) {
        state = Guarded(State(core: core, downstream: Downstream(downstream)))
        self.whenFull = whenFull
        self.onDrop = onDrop
    }

    // MARK: Upstream

    @inlinable func receive(subscription: any Subscription) {
        let downstream = state.withLock { state -> Downstream? in
            guard state.upstream.begin(subscription) else { return nil }
            state.isSpeaking = true
            return state.downstream
        }
        guard let downstream else { return subscription.cancel() }
        downstream.subscriber.receive(subscription: asSubscription)
        let count = speak(state.withLock { $0.speak() })
        state.ask(Subscribers.Demand(count: count))
    }

    @inlinable func receive(_ input: Input) -> Subscribers.Demand {
        let action = state.withLock { state -> Action? in
            guard state.upstream.isOpen else { return nil }
            state.core.arrived(input)
            return state.isSpeaking ? .ask(state.core.takeAsk()) : state.speak()
        }
        guard let action else {
            state.cancelForAnother()
            return .none
        }
        return Subscribers.Demand(count: speak(action))
    }

    @inlinable func receive(completion: Subscribers.Completion<Failure>) {
        var forgotten: [Input] = []
        var upstream: UpstreamSubscription.Phase?
        let action = state.withLock { state -> Action? in
            guard state.upstream.isOpen else { return nil }
            upstream = state.upstream.end()
            forgotten = state.core.ended(Completion(completion))
            return state.isSpeaking ? nil : state.speak()
        }
        // Nothing is asked of an upstream that has ended.
        if let action { _ = speak(action) }
        withExtendedLifetime((forgotten, upstream)) {}
    }

    // MARK: Downstream

    @inlinable func request(_ demand: Subscribers.Demand) {
        let action = state.withLock { state -> Action in
            state.core.request(demand.count)
            // The thread that speaks asks when it has said everything.
            return state.isSpeaking ? .ask(0) : state.speak()
        }
        state.ask(Subscribers.Demand(count: speak(action)))
    }

    @inlinable func cancel() {
        let (upstream, downstream, forgotten) = state.withLock { state in
            (state.upstream.cancel(), state.downstream.take(), state.core.cancelled())
        }
        upstream?.cancel()
        // They may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime((downstream, forgotten)) {}
    }

    // MARK: -

    /// Says what is to be said, until it is time to ask. Returns for how many values.
    @inlinable func speak(_ first: Action) -> Int {
        var action = first
        while true {
            switch action {
            case .ask(let count): return count
            case .say(let step, let downstream):
                let more = say(step, to: downstream)
                action = state.withLock { state in
                    if more > 0 { state.core.request(more) }
                    return state.speak()
                }
            }
        }
    }

    /// Returns how much more downstream asks for.
    @inlinable func say(_ step: Core.Step, to downstream: Downstream) -> Int {
        switch step {
        case .give(let value):
            return downstream.subscriber.receive(value).count
        case .discard(let value):
            onDrop?(value)
        case .overflow(let value):
            onDrop?(value)
            let (upstream, forgotten) = state.withLock { ($0.upstream.cancel(), $0.core.cancelled()) }
            upstream?.cancel()
            withExtendedLifetime(forgotten) {}
            if case .customError(let makeError) = whenFull { end(.failure(makeError())) }
        case .end(let completion):
            end(.init(failure: completion.failure))
        }
        return 0
    }

    @inlinable func end(_ completion: Subscribers.Completion<Failure>) {
        let downstream = state.withLock { $0.downstream.take() }
        downstream?.subscriber.receive(completion: completion)
    }
}
