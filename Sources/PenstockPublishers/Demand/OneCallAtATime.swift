/// A subscription that is called by one thread at a time: a cancellation that comes while another thread asks, or while
/// it asks itself further up its stack, is carried out when that call has returned.
///
/// The port's `Just` and its like, of which inner publishers are often made, bear nothing else. It is for subscriptions
/// that are asked for one value at a time, as only those return soon.
final class OneCallAtATime: Subscription {
    private enum Call {
        case request(Subscribers.Demand)
        case cancel
    }

    private struct State {
        let subscription: any Subscription
        var turns = Turns<Call>()
        var isCancelled = false
    }

    private let state: Guarded<State>

    init(_ subscription: any Subscription) {
        state = Guarded(State(subscription: subscription))
    }

    func request(_ demand: Subscribers.Demand) {
        perform { state in state.isCancelled ? [] : [.request(demand)] }
    }

    func cancel() {
        perform { state in
            guard !state.isCancelled else { return [] }
            state.isCancelled = true
            state.turns.forget()
            return [.cancel]
        }
    }

    private func perform(_ calls: (inout State) -> [Call]) {
        let mine = state.withLock { state in
            let calls = calls(&state)
            return state.turns.take(calls) ? state.subscription : nil
        }
        guard let mine else { return }
        while let call = state.withLock({ $0.turns.next() }) {
            switch call {
            case .request(let demand): mine.request(demand)
            case .cancel: mine.cancel()
            }
        }
    }
}
