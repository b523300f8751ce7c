internal import PenstockStreams
internal import Synchronization

/// What the consumer has asked for and was given, and the lock around it.
final class DeliveryOutlet<Element: Sendable>: Sendable {
    typealias Consumer = CheckedContinuation<Result<Delivery<Element>?, any Error>, Never>

    private enum Phase {
        case idle, running
        /// The consumer wants no more, and something may still run.
        case stopping
        case ended
    }

    private struct State {
        var phase = Phase.idle
        var downstream = Downstream<Delivery<Element>, Consumer>()
        var failure: (any Error)?

        /// The failure is told once.
        mutating func takeEnd() -> Result<Delivery<Element>?, any Error> {
            _ = downstream.takeConsumer()
            defer { failure = nil }
            return failure.map { .failure($0) } ?? .success(nil)
        }
    }

    private let state = Mutex(State())

    /// Returns how much more is asked for.
    func request(_ count: Int) -> Int {
        state.withLock { state in
            state.downstream.request(count)
            return count
        }
    }

    /// Returns whether this is the beginning, and how much more is asked for.
    func next(_ consumer: Consumer) -> (mustStart: Bool, count: Int) {
        let (mustStart, count, answer) = state.withLock {
            state -> (Bool, Int, Result<Delivery<Element>?, any Error>?) in
            let before = state.downstream.demand
            if let delivery = state.downstream.next(consumer) { return (false, 0, .success(delivery)) }
            switch state.phase {
            case .idle:
                state.phase = .running
                return (true, state.downstream.demand - before, nil)
            case .running:
                return (false, state.downstream.demand - before, nil)
            case .stopping:
                return (false, 0, nil)
            case .ended:
                return (false, 0, state.takeEnd())
            }
        }
        if let answer { consumer.resume(returning: answer) }
        return (mustStart, count)
    }

    func give(_ delivery: Delivery<Element>) -> Bool {
        let (isTaken, consumer) = state.withLock { state -> (Bool, Consumer?) in
            guard state.phase == .running else { return (false, nil) }
            return (true, state.downstream.deliver(delivery))
        }
        consumer?.resume(returning: .success(delivery))
        return isTaken
    }

    /// Returns what was given and nobody has come for, and whether the stream ran until now.
    func letGo() -> (left: [Delivery<Element>], isRunning: Bool) {
        state.withLock { state in
            let left = state.downstream.takeDelivered()
            let wasRunning = state.phase == .running
            state.phase = wasRunning || state.phase == .stopping ? .stopping : .ended
            return (left, wasRunning)
        }
    }

    func end(_ failure: (any Error)?) {
        let (consumer, answer) = state.withLock { state -> (Consumer?, Result<Delivery<Element>?, any Error>) in
            if state.phase == .running { state.failure = failure }
            state.phase = .ended
            guard let consumer = state.downstream.takeConsumer() else { return (nil, .success(nil)) }
            return (consumer, state.takeEnd())
        }
        consumer?.resume(returning: answer)
    }
}
