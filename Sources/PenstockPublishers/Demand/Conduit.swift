/// One subscription to an operator, between upstream and one subscriber.
///
/// It is neither a subscriber nor a subscription itself. Combine's own code would call it by its conformance, which knows
/// no types: the runtime would look them up for each value. Closures that are made where the program names the types are
/// compiled for these.
@usableFromInline
protocol Conduit<Input, Failure>: AnyObject {
    associatedtype Input
    associatedtype Failure: Error

    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
    func request(_ demand: Subscribers.Demand)
    func cancel()
}

extension Conduit {
    /// What upstream is given.
    @inlinable var asSubscriber: AnySubscriber<Input, Failure> {
        AnySubscriber(
            receiveSubscription: { self.receive(subscription: $0) }, receiveValue: { self.receive($0) },
            receiveCompletion: { self.receive(completion: $0) })
    }

    /// What the subscriber is given.
    @inlinable var asSubscription: any Subscription {
        ConduitSubscription(request: { self.request($0) }, cancel: { self.cancel() })
    }
}

/// What a subscriber is given: made of closures.
@usableFromInline
final class ConduitSubscription: Subscription {
    private let onRequest: (Subscribers.Demand) -> Void
    private let onCancel: () -> Void

    @usableFromInline
    init(request: @escaping (Subscribers.Demand) -> Void, cancel: @escaping () -> Void) {
        onRequest = request
        onCancel = cancel
    }

    @usableFromInline
    func request(_ demand: Subscribers.Demand) { onRequest(demand) }

    @usableFromInline
    func cancel() { onCancel() }
}
