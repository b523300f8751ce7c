internal import DequeModule

/// One subscription to a delay, between upstream and one subscriber.
///
/// What is held stands in a line of its own, and each action of the scheduler takes its first: an order that the
/// scheduler does not keep is no matter.
final class DelayConduit<Downstream: Subscriber>: Subscriber, Subscription {
    typealias Input = Downstream.Input
    typealias Failure = Downstream.Failure

    private enum Step {
        case give(Input)
        case end(Subscribers.Completion<Failure>)
    }

    private struct State {
        var held: Deque<Step> = []
        var turns = Turns<Step>()
        var downstream: Downstream?
        var upstream: (any Subscription)?
        var isSubscribed = false
        /// Whether upstream has ended.
        var isEnded = false
    }

    private let state: Guarded<State>
    private let later: (@escaping () -> Void) -> Void

    /// - Parameter later: performs an action the interval from now.
    init(_ downstream: Downstream, later: @escaping (@escaping () -> Void) -> Void) {
        state = Guarded(State(downstream: downstream))
        self.later = later
    }

    func receive(subscription: any Subscription) {
        let downstream = state.withLock { state -> Downstream? in
            guard !state.isSubscribed, let downstream = state.downstream else { return nil }
            state.isSubscribed = true
            state.upstream = subscription
            return downstream
        }
        guard let downstream else { return subscription.cancel() }
        downstream.receive(subscription: self)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        hold(.give(input))
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        guard case .failure = completion else { return hold(.end(completion)) }
        perform { state in
            guard !state.isEnded else { return [] }
            state.isEnded = true
            state.upstream = nil
            state.held = []
            state.turns.forget()
            return [.end(completion)]
        }
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        state.withLock { $0.upstream }?.request(demand)
    }

    func cancel() {
        let (upstream, downstream) = state.withLock { state in
            state.held = []
            state.turns.forget()
            return (state.upstream.take(), state.downstream.take())
        }
        upstream?.cancel()
        withExtendedLifetime(downstream) {}
    }

    private func hold(_ step: Step) {
        let isHeld = state.withLock { state in
            guard state.downstream != nil, !state.isEnded else { return false }
            if case .end = step {
                state.isEnded = true
                state.upstream = nil
            }
            state.held.append(step)
            return true
        }
        if isHeld { later { self.perform { $0.held.popFirst().map { [$0] } ?? [] } } }
    }

    private func perform(_ event: (inout State) -> [Step]) {
        guard state.withLock({ state in state.turns.take(event(&state)) }) else { return }
        while let step = state.withLock({ $0.turns.next() }) {
            switch step {
            case .give(let value):
                guard let downstream = state.withLock({ $0.downstream }) else { continue }
                request(downstream.receive(value))
            case .end(let completion):
                state.withLock { $0.downstream.take() }?.receive(completion: completion)
            }
        }
    }
}
