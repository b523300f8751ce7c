internal import Penstock

/// One subscription to a log, and the subscriber that asks it.
// Its state is behind a lock, and the subscriber hears from the delivery's task alone.
final class LogConduit<Output: Sendable>: Subscription, @unchecked Sendable {
    typealias Downstream = AnySubscriber<Output, any Error>

    private struct State {
        var downstream: Downstream?
        var delivery: LogDelivery?
        /// The subscriber hears of nothing before it has its subscription.
        var held = HeldDemand()
        var end: Subscribers.Completion<any Error>?
    }

    private let state: Guarded<State>

    private init(_ downstream: Downstream) {
        state = Guarded(State(downstream: downstream))
    }

    /// Subscribes to the log: from the place that it has at this moment.
    static func subscribe(_ downstream: Downstream, to replay: LogReplay<Output>) {
        let conduit = LogConduit(downstream)
        // The delivery holds it until it is cancelled or has come to its end: a subscriber need not keep its subscription.
        let delivery = replay.subscribe(receive: { conduit.give($0) }, complete: { conduit.end($0) })
        conduit.state.withLock { $0.delivery = delivery }
        downstream.receive(subscription: conduit)
        delivery.begin()
        conduit.greeted()
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        state.withLock { $0.held.hold(demand) ? nil : $0.delivery }?.request(demand.count)
    }

    func cancel() {
        let (downstream, delivery) = state.withLock { ($0.downstream.take(), $0.delivery.take()) }
        delivery?.cancel()
        // It may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime(downstream) {}
    }

    private func end(_ failure: (any Error)?) {
        let completion = Subscribers.Completion<any Error>(failure: failure)
        let (downstream, delivery) = state.withLock { state -> (Downstream?, LogDelivery?) in
            guard state.held.isOver else {
                state.end = state.end ?? completion
                return (nil, nil)
            }
            return (state.downstream.take(), state.delivery.take())
        }
        delivery?.cancel()
        downstream?.receive(completion: completion)
    }

    private func greeted() {
        let (held, end, downstream) = state.withLock { state in
            (state.held.letGo(), state.end, state.end == nil ? nil : state.downstream.take())
        }
        if let end { downstream?.receive(completion: end) }
        request(held)
    }

    private func give(_ value: Output) {
        guard let downstream = state.withLock({ $0.downstream }) else { return }
        request(downstream.receive(value))
    }
}
