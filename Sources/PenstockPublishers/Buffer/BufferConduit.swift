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

        /// The next thing to say, for the thread that begins to speak or goes on with it; `nil` ends that.
        @inlinable mutating func speak() -> (step: Core.Step, to: Downstream)? {
            guard let downstream, let step = core.next() else {
                isSpeaking = false
                return nil
            }
            isSpeaking = true
            return (step, downstream)
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
        var count = 0
        let first = state.withLock { state -> (Core.Step, Downstream)? in
            if let first = state.speak() { return first }
            count = state.core.takeAsk()
            return nil
        }
        if let first { speak(first) { count = $0.takeAsk() } }
        state.ask(Subscribers.Demand(count: count))
    }

    @inlinable func receive(_ input: Input) -> Subscribers.Demand {
        var count = 0
        let (isOpen, first) = state.withLock { state -> (Bool, (Core.Step, Downstream)?) in
            guard state.upstream.isOpen else { return (false, nil) }
            state.core.arrived(input)
            if !state.isSpeaking, let first = state.speak() { return (true, first) }
            count = state.core.takeAsk()
            return (true, nil)
        }
        guard isOpen else {
            state.cancelForAnother()
            return .none
        }
        if let first { speak(first) { count = $0.takeAsk() } }
        return Subscribers.Demand(count: count)
    }

    @inlinable func receive(completion: Subscribers.Completion<Failure>) {
        var forgotten: [Input] = []
        var upstream: UpstreamSubscription.Phase?
        let first = state.withLock { state -> (Core.Step, Downstream)? in
            guard state.upstream.isOpen else { return nil }
            upstream = state.upstream.end()
            forgotten = state.core.ended(Completion(completion))
            return state.isSpeaking ? nil : state.speak()
        }
        if let first { speak(first) }
        withExtendedLifetime((forgotten, upstream)) {}
    }

    // MARK: Downstream

    @inlinable func request(_ demand: Subscribers.Demand) {
        var count = 0
        let first = state.withLock { state -> (Core.Step, Downstream)? in
            state.core.request(demand.count)
            if state.isSpeaking { return nil }
            if let first = state.speak() { return first }
            count = state.core.takeAsk()
            return nil
        }
        if let first { speak(first) { count = $0.takeAsk() } }
        state.ask(Subscribers.Demand(count: count))
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

    /// Says this and all that follows. `atTheEnd` is told of the core in the moment in which nothing is left to say.
    @inlinable func speak(
        _ first: (step: Core.Step, to: Downstream), atTheEnd: (inout Core) -> Void = { _ in }
    ) {
        var next: (step: Core.Step, to: Downstream)? = first
        while let (step, downstream) = next {
            let more = say(step, to: downstream)
            next = state.withLock { state in
                if more > 0 { state.core.request(more) }
                let next = state.speak()
                if next == nil { atTheEnd(&state.core) }
                return next
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
