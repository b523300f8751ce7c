import PenstockCombine
import Synchronization

@testable import PenstockPublishers

/// A subscriber that asks for exactly what it is told to, and keeps what it hears.
final class Probe<Input, Failure: Error>: Subscriber {
    private struct State {
        var subscription: (any Subscription)?
        var values: [Input] = []
        var completion: Subscribers.Completion<Failure>?
        var completionCount = 0
        var isHearing = false
        var overlaps = 0
    }

    private let state = Guarded(State())
    private let demand: Int
    /// What it does with a value; returns how many more it asks for.
    private let onValue: (Probe, Input) -> Int

    init(demand: Int = 0, _ onValue: @escaping (Probe, Input) -> Int = { _, _ in 0 }) {
        self.demand = demand
        self.onValue = onValue
    }

    var values: [Input] { state.withLock { $0.values } }
    var isFinished: Bool {
        state.withLock { if case .finished? = $0.completion { true } else { false } }
    }
    var failure: Failure? {
        state.withLock { if case .failure(let failure)? = $0.completion { failure } else { nil } }
    }
    var completionCount: Int { state.withLock { $0.completionCount } }
    /// How often it was told something while it was being told something else.
    var overlaps: Int { state.withLock { $0.overlaps } }

    func receive(subscription: any Subscription) {
        state.withLock { $0.subscription = subscription }
        if demand > 0 { subscription.request(Subscribers.Demand(count: demand)) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        state.withLock { state in
            if state.isHearing { state.overlaps += 1 }
            state.isHearing = true
            state.values.append(input)
        }
        let more = onValue(self, input)
        state.withLock { $0.isHearing = false }
        return Subscribers.Demand(count: more)
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        state.withLock { state in
            if state.isHearing { state.overlaps += 1 }
            state.completion = completion
            state.completionCount += 1
        }
    }

    func request(_ count: Int) {
        state.withLock { $0.subscription }?.request(Subscribers.Demand(count: count))
    }

    func cancel() {
        state.withLock { $0.subscription.take() }?.cancel()
    }
}

// Its state is behind a lock, and what it does with values is the test's matter.
extension Probe: @unchecked Sendable where Input: Sendable {}
