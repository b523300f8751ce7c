internal import Penstock

/// One reader of a queue, and the subscriber that asks it.
// Its state is behind a lock, and the subscriber hears from the engine's task alone.
final class QueueConduit<Element: Sendable>: Subscription, @unchecked Sendable {
    private struct State {
        var downstream: AnySubscriber<Delivery<Element>, any Error>?
        var held = HeldDemand()
        var hasBegun = false
    }

    private let state: Guarded<State>
    private let engine: DeliveryEngine<Element>
    private let executor = StreamExecutor.current

    init(_ publisher: QueuePublisher<Element>, _ downstream: AnySubscriber<Delivery<Element>, any Error>) {
        state = Guarded(State(downstream: downstream))
        let relay = Relay<QueueConduit>()
        engine = DeliveryEngine(
            queue: publisher.queue, inFlightMax: publisher.inFlightMax, lease: publisher.lease,
            give: { relay.target?.give($0) ?? false })
        relay.target = self
    }

    /// Gives the subscriber its subscription.
    func begin() {
        state.withLock { $0.downstream }?.receive(subscription: self)
        request(state.withLock { $0.held.letGo() })
    }

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
            let failure = await self.engine.run()
            self.end(failure)
        }
    }

    func cancel() {
        let downstream = state.withLock { $0.downstream.take() }
        engine.cancel()
        // It may hold the task or object that cancels, and must not be let go inside the lock.
        withExtendedLifetime(downstream) {}
    }

    private func give(_ delivery: Delivery<Element>) -> Bool {
        guard let downstream = state.withLock({ $0.downstream }) else { return false }
        request(downstream.receive(delivery))
        return true
    }

    private func end(_ failure: (any Error)?) {
        state.withLock { $0.downstream.take() }?.receive(completion: .init(failure: failure))
    }
}
