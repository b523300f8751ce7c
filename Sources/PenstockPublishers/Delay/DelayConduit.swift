public import PenstockStreams

/// One subscription to a delay, between upstream and one subscriber.
///
/// The scheduler is told of one moment at a time, and what is due by then comes at once: an order that the scheduler does
/// not keep is no matter.
@usableFromInline
final class DelayConduit<Input, Failure: Error, Context: Scheduler>: Conduit {
    @usableFromInline typealias Downstream = AnySubscriber<Input, Failure>
    @usableFromInline typealias Moment = Context.SchedulerTimeType

    @usableFromInline
    enum Step {
        case give(Input, Downstream)
        case end(Subscribers.Completion<Failure>, Downstream)
    }

    @usableFromInline
    struct State: UpstreamHolder {
        @usableFromInline var core = DelayCore<Input, Moment>()
        @usableFromInline var upstream = UpstreamSubscription()
        /// The subscriber, until it is told the end or wants no more.
        @usableFromInline var downstream: Downstream?
        @usableFromInline var failure: Failure?
        /// Whether a thread tells the subscriber something. It goes on with what comes meanwhile.
        @usableFromInline var isTelling = false

        @inlinable init(downstream: Downstream) { self.downstream = downstream }

        /// The next thing to say to the subscriber, if there is one; `nil` ends the caller's turn.
        @inlinable mutating func next() -> Step? {
            isTelling = false
            guard let downstream else { return nil }
            let step: Step
            if let failure {
                step = .end(.failure(failure), downstream)
            } else {
                switch core.next() {
                case .give(let value): step = .give(value, downstream)
                case .finish: step = .end(.finished, downstream)
                case nil: return nil
                }
            }
            if case .end = step { self.downstream = nil }
            isTelling = true
            return step
        }
    }

    @usableFromInline let state: Guarded<State>
    @usableFromInline let flow: DelayFlow<Context>

    @inlinable init(_ downstream: Downstream, _ flow: DelayFlow<Context>) {
        state = Guarded(State(downstream: downstream))
        self.flow = flow
    }

    @inlinable func receive(subscription: any Subscription) {
        let downstream = state.withLock { state -> Downstream? in
            guard state.upstream.begin(subscription) else { return nil }
            state.isTelling = true
            return state.downstream
        }
        guard let downstream else { return subscription.cancel() }
        downstream.receive(subscription: asSubscription)
        tell(state.withLock { $0.next() })
    }

    @inlinable func receive(_ input: Input) -> Subscribers.Demand {
        let due = flow.due
        let (isOpen, moment) = state.withLock { state -> (Bool, Moment?) in
            guard state.upstream.isOpen else { return (false, nil) }
            state.core.arrived(input, due: due)
            return (true, state.core.takeMoment())
        }
        if let moment { wait(for: moment) }
        if !isOpen { state.cancelForAnother() }
        return .none
    }

    @inlinable func receive(completion: Subscribers.Completion<Failure>) {
        let due = flow.due
        var forgotten: [Input] = []
        var upstream: UpstreamSubscription.Phase?
        let moment = state.withLock { state -> Moment? in
            guard state.upstream.isOpen else { return nil }
            upstream = state.upstream.end()
            switch completion {
            case .finished:
                state.core.finished(due: due)
            case .failure(let failure):
                forgotten = state.core.close()
                state.failure = failure
            }
            return state.core.takeMoment()
        }
        withExtendedLifetime((forgotten, upstream)) {}
        if let moment { wait(for: moment) }
        tell()
    }

    @inlinable func request(_ demand: Subscribers.Demand) {
        state.ask(demand)
    }

    @inlinable func cancel() {
        let (upstream, downstream, forgotten) = state.withLock { state in
            (state.upstream.cancel(), state.downstream.take(), state.core.close())
        }
        upstream?.cancel()
        // They may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime((downstream, forgotten)) {}
    }

    @inlinable func wait(for moment: Moment) {
        flow.schedule(moment) { self.momentCame() }
    }

    @inlinable func momentCame() {
        let now = flow.scheduler.now
        let next = state.withLock { state in
            state.core.came(now)
            return state.core.takeMoment()
        }
        if let next { wait(for: next) }
        tell()
    }

    /// Says to the subscriber what there is to say, unless another thread does so already.
    @inlinable func tell() {
        tell(state.withLock { $0.isTelling ? nil : $0.next() })
    }

    @inlinable func tell(_ first: Step?) {
        var step = first
        while let said = step {
            switch said {
            case .give(let value, let downstream):
                let more = downstream.receive(value)
                if more > .none { state.ask(more) }
            case .end(let completion, let downstream):
                downstream.receive(completion: completion)
            }
            step = state.withLock { $0.next() }
        }
    }
}
