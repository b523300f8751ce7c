public import Penstock

extension Publishers {
    /// A publisher that turns each delivery into a publisher of its own, merges these, and settles.
    /// Made by `flatMap(maxPublishers:_:)` on a publisher of deliveries, whose description holds for it.
    public struct SettlingFlatMap<Upstream: Publisher, Child: Publisher>: Publisher
    where Upstream.Output: Settleable, Upstream.Failure == any Error {
        /// What the inner publishers give.
        public typealias Output = Child.Output
        /// What upstream and the store throw. An inner publisher's failure is its message's matter.
        public typealias Failure = any Error

        let upstream: Upstream
        let maxPublishers: Subscribers.Demand
        let transform: (Upstream.Output.Payload) -> Child

        /// Begins a subscription.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            upstream.subscribe(
                SettlingConduit<Child.Output, Upstream.Output>(
                    AnySubscriber(subscriber), maxPublishers: maxPublishers, transform: transform))
        }
    }
}

extension Publisher where Output: Settleable, Failure == any Error {
    /// Turns the payload of each delivery into a publisher, merges at most `maxPublishers` of these at a time, and
    /// settles each delivery by how its publisher ended. So a pipeline reads the same with `in:` and without.
    ///
    /// | the inner publisher | the message |
    /// |---|---|
    /// | finishes | is done |
    /// | fails | comes back as the queue's policy says, the error on record; a dead letter when attempts are used up |
    /// | fails with ``/Penstock/RetryAfter`` | comes back after that delay |
    /// | fails with ``/Penstock/Reject`` | is a dead letter at once |
    /// | fails with ``/Penstock/Suspension`` | goes on at a moment or with an event; the attempt does not count |
    ///
    /// - The stream goes on after a failure of an inner publisher. It fails when the store does.
    /// - Asks for `maxPublishers` deliveries at first, and for one more each time an inner publisher has ended, what it
    ///   gave was taken, and its message is settled.
    /// - Extends the leases of what is worked on. An inner publisher whose lease was lost all the same is cancelled.
    /// - When the subscriber cancels, or the process dies, what was worked on goes back in line.
    ///
    /// For a closure that is to have the delivery itself, and settles it, write its type:
    /// `{ (delivery: Delivery<Order>) in … }`.
    ///
    /// ```swift
    /// orders.publisher.flatMap(maxPublishers: .max(4)) { order in ship(order) }.sink { … }
    /// ```
    ///
    /// - Parameters:
    ///   - maxPublishers: how many messages are worked on at a time.
    ///   - transform: makes the publisher that works on a payload.
    public func flatMap<Child: Publisher>(
        maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output.Payload) -> Child
    ) -> Publishers.SettlingFlatMap<Self, Child> {
        Publishers.SettlingFlatMap(upstream: self, maxPublishers: maxPublishers, transform: transform)
    }
}
