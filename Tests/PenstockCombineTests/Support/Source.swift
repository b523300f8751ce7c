import PenstockCombine

@testable import PenstockPublishers

/// A publisher that a test drives by hand, and that tells what was asked of it. It does not look at the demand.
final class Source<Output, Failure: Error>: Publisher {
    private struct State {
        var subscriber: AnySubscriber<Output, Failure>?
        var asked: [Int] = []
        var subscriptionCount = 0
        var cancelCount = 0
    }

    private final class Link: Subscription {
        let source: Source
        init(_ source: Source) { self.source = source }
        func request(_ demand: Subscribers.Demand) { source.state.withLock { $0.asked.append(demand.count) } }
        func cancel() { source.state.withLock { $0.cancelCount += 1 } }
    }

    private let state = Guarded(State())

    var asked: [Int] { state.withLock { $0.asked } }
    var subscriptionCount: Int { state.withLock { $0.subscriptionCount } }
    var cancelCount: Int { state.withLock { $0.cancelCount } }

    func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        state.withLock { state in
            state.subscriptionCount += 1
            state.subscriber = AnySubscriber(subscriber)
        }
        subscriber.receive(subscription: Link(self))
    }

    /// Sends a value, and notes what is asked for by the answer.
    func send(_ value: Output) {
        guard let more = state.withLock({ $0.subscriber })?.receive(value).count, more > 0 else { return }
        state.withLock { $0.asked.append(more) }
    }

    func send(completion: Subscribers.Completion<Failure>) {
        state.withLock { $0.subscriber.take() }?.receive(completion: completion)
    }
}

/// Something that Combine allows to be used from any thread, though the compiler does not know.
struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
