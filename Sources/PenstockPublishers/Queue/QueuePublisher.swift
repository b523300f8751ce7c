public import Penstock

extension Queue {
    /// The queue's messages as this process gets them, each under a lease.
    ///
    /// It does as ``publisher(inFlightMax:lease:)`` with what that one says unless it is told otherwise.
    public var publisher: QueuePublisher<Element> { publisher() }

    /// The queue's messages as this process gets them, each under a lease.
    ///
    /// - Claims exactly as many messages as the subscriber asked for and has not got, and holds `inFlightMax` at most:
    ///   of an unlimited demand, the next ones come when earlier ones are settled.
    /// - Gives messages by priority, and then by sequence. Waits while none is ready.
    /// - Makes a message whose payload cannot be decoded a dead letter with the reason, and goes on.
    /// - Never finishes by itself. Fails with what the store throws.
    /// - `flatMap(maxPublishers:_:)` directly behind it gives its closure the payloads, settles and extends leases by
    ///   itself. Any other subscriber settles each delivery.
    /// - Gives its values on a thread of its own, one at a time.
    ///
    /// Each subscription is a reader of its own.
    ///
    /// ```swift
    /// orders.publisher.flatMap(maxPublishers: .max(4)) { order in ship(order) }.sink { … }
    /// ```
    ///
    /// - Parameters:
    ///   - inFlightMax: how many messages may be claimed and not settled, 1 to `Limits.batchCountMax`.
    ///   - lease: how long each lease lasts unless it is extended, within `Limits.leaseRange`. Another value makes the
    ///     subscription fail with `invalidInput`.
    public func publisher(inFlightMax: Int = 256, lease: Duration = .seconds(30)) -> QueuePublisher<Element> {
        QueuePublisher(queue: self, inFlightMax: inFlightMax, lease: lease)
    }
}

/// A queue's messages, each under a lease. Made by `queue.publisher`, whose description holds for it.
public struct QueuePublisher<Element: Sendable>: Publisher, Sendable {
    /// A message under a lease.
    public typealias Output = Delivery<Element>
    /// What the store throws.
    public typealias Failure = any Error

    let queue: Queue<Element>
    let inFlightMax: Int
    let lease: Duration

    /// Begins a reader. It claims nothing before it is asked.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        QueueConduit(self, AnySubscriber(subscriber)).begin()
    }
}
