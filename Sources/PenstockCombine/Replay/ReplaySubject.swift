public import PenstockStreams

/// A subject that remembers the last values that were sent by it, and its completion.
///
/// - A new subscriber gets the remembered values, then those that are sent from then on, then the completion: in the
///   order of their sending, and none twice. After the completion a newcomer gets the remembered values and that same
///   completion.
/// - Each subscriber gets exactly as many values as it asked for. What it has not asked for yet waits for it alone,
///   within the bound that ``PenstockStreams/ReplayBacklog`` names.
/// - `send`, `receive`, `request` and `cancel` may race and re-enter. A subscriber is told one thing at a time; what is
///   sent while it is being told something on another thread, or from within its own `receive`, follows.
///
/// ```swift
/// let temperatures = ReplaySubject<Double, Never>(remembering: 1, backlog: .dropOldest(at: 16))
/// temperatures.send(21.5)
/// ```
public final class ReplaySubject<Output, Failure: Error>: Subject {
    private let hub: ReplayHub<Output, Failure>

    /// Makes a subject that nothing was sent by.
    ///
    /// - Parameters:
    ///   - count: how many values are remembered for newcomers, 0 or more.
    ///   - backlog: how many values may wait for a slow subscriber, and what happens then. With `suspendSender` the thread
    ///     that sends waits until every subscriber has room; only a send from within a subscriber's `receive` does not,
    ///     as it would wait for itself: its value stands in line.
    ///   - onDrop: told of each value that a subscriber lost, once for each of these.
    public init(
        remembering count: Int,
        backlog: ReplayBacklog<Failure> = .suspendSender(at: 256),
        onDrop: @escaping (Output) -> Void = { _ in }
    ) {
        hub = ReplayHub(remembering: count, backlog: backlog, onDrop: onDrop)
    }

    /// How many subscriptions there are.
    public var subscriberCount: Int { hub.subscriberCount }

    /// Sends a value to all subscribers. After the completion it does nothing.
    public func send(_ value: Output) {
        hub.sendAndWait(value)
    }

    /// Ends the subject, when those who wait to send have sent. Only the first completion counts.
    public func send(completion: Subscribers.Completion<Failure>) {
        hub.complete(completion)
    }

    /// Attaches a publisher that sends by this subject. It is asked for everything; with a backlog of `suspendSender` its
    /// thread waits.
    public func send(subscription: any Subscription) {
        subscription.request(.unlimited)
    }

    /// Subscribes: what is remembered now and what is sent from now on goes to the subscriber.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        let name = hub.state.withLock { $0.machine.subscribe(AnySubscriber(subscriber)) }
        subscriber.receive(subscription: ReplaySubscription(hub, name))
        // A completion without values before it needs no demand.
        hub.request(0, by: name)
    }
}

// Everything it has lies behind its lock. A subscriber hears from the thread that sends, as of any subject of Combine.
extension ReplaySubject: @unchecked Sendable where Output: Sendable {}
