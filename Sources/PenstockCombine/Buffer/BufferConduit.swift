/// One subscription to a buffer: the lock around the machine, between upstream and one subscriber.
///
/// Upstream is asked only when nobody speaks to the subscriber on this thread, or by what `receive` returns: a source
/// that answers at once then finds every earlier value delivered, and the demand that came of it.
final class BufferConduit<Downstream: Subscriber>: Subscriber, Subscription {
    typealias Input = Downstream.Input
    typealias Failure = Downstream.Failure
    typealias Machine = BufferMachine<Input, Failure>

    private struct State {
        var machine: Machine
        var turns = Turns<Machine.Step>()
        var downstream: Downstream?
        var upstream: (any Subscription)?
        var isSubscribed = false
    }

    private let state: Guarded<State>
    private let whenFull: Publishers.BufferingStrategy<Failure>
    private let onDrop: ((Input) -> Void)?

    init(
        _ downstream: Downstream, machine: Machine, whenFull: Publishers.BufferingStrategy<Failure>,
        onDrop: ((Input) -> Void)?
    ) {
        state = Guarded(State(machine: machine, downstream: downstream))
        self.whenFull = whenFull
        self.onDrop = onDrop
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
        Subscribers.Demand(count: perform { $0.arrived(input) })
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        state.withLock { $0.upstream = nil }
        _ = perform { $0.ended(completion) }
    }

    func request(_ demand: Subscribers.Demand) {
        ask(perform { $0.request(demand.count) })
    }

    func cancel() {
        let (upstream, downstream) = state.withLock { state in
            state.machine.cancelled()
            state.turns.forget()
            return (state.upstream.take(), state.downstream.take())
        }
        upstream?.cancel()
        // It may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime(downstream) {}
    }

    /// Tells the machine of an event and says what is to be said. Returns how much to ask upstream for then.
    private func perform(_ event: (inout Machine) -> [Machine.Step]) -> Int {
        if state.withLock({ $0.turns.take(event(&$0.machine)) }) {
            while let step = state.withLock({ $0.turns.next() }) { say(step) }
        }
        return state.withLock { $0.machine.takeAsk() }
    }

    private func say(_ step: Machine.Step) {
        switch step {
        case .give(let value):
            guard let downstream = state.withLock({ $0.downstream }) else { return }
            let more = downstream.receive(value).count
            guard more > 0 else { return }
            state.withLock { state in
                // This thread has the turn, and goes on with what that adds.
                _ = state.turns.take(state.machine.request(more))
            }
        case .drop(let value):
            onDrop?(value)
        case .overflow(let value):
            onDrop?(value)
            state.withLock { $0.upstream.take() }?.cancel()
            guard case .customError(let makeError) = whenFull else { return }
            end(.failure(makeError()))
        case .end(let completion):
            end(completion)
        }
    }

    private func end(_ completion: Subscribers.Completion<Failure>) {
        let downstream = state.withLock { state in
            state.upstream = nil
            return state.downstream.take()
        }
        downstream?.receive(completion: completion)
    }

    private func ask(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { $0.upstream }?.request(Subscribers.Demand(count: count))
    }
}
