public import PenstockStreams

/// What somebody settles: a delivery. `flatMap(maxConcurrent:_:)` over sequences of these does so by itself.
public protocol Settleable<Payload>: Sendable {
    /// What was enqueued.
    associatedtype Payload: Sendable

    /// The message and its lease.
    var delivery: Delivery<Payload> { get }
}

extension Delivery: Settleable {
    /// This one.
    public var delivery: Delivery<Element> { self }
}

extension AsyncSequence where Self: Sendable, Element: Settleable {
    /// Turns the payload of each delivery into a sequence, merges these, at most `maxConcurrent` of them at a time, and
    /// settles each delivery by how its sequence ends.
    ///
    /// It does as `flatMap(maxConcurrent:_:)` does with plain values, so that a pipeline reads the same whether what
    /// waits in it is durable or not. Beyond that:
    ///
    /// | the inner sequence | the message |
    /// |---|---|
    /// | finishes | is done |
    /// | throws | comes back as the queue's policy says, with the error on record; a dead letter when attempts are used up |
    /// | throws ``RetryAfter`` | comes back after that delay |
    /// | throws ``Reject`` | is a dead letter at once |
    /// | throws ``Suspension`` | goes on at a moment or with an event; the attempt does not count |
    /// | is cancelled, as nobody wants more | goes back in line at once, and the attempt does not count |
    /// | cancels its own task | comes back as after an error |
    /// | dies with its process | is delivered again |
    ///
    /// - A failed inner sequence does not end the stream. It fails when upstream does, or when the store cannot settle.
    /// - The next delivery is asked for when an inner sequence has ended, and does not wait until it is settled: both
    ///   can go in one transaction. The stream ends only when everything is settled.
    /// - The leases of all running inner sequences are extended together, every third of a lease. One whose lease was
    ///   lost all the same is cancelled, and its message is somebody else's.
    /// - What an inner sequence has given may be given again, when it did not finish before its process died: consumers
    ///   should bear being given a value twice.
    ///
    /// For a closure that is to have the delivery itself, and settles it, write its type: `{ (delivery: Delivery<Order>) in … }`.
    ///
    /// ```swift
    /// for try await page in links.buffer(size: 100, prefetch: .keepFull, whenFull: .wait, in: queue)
    ///     .flatMap(maxConcurrent: 4, { link in crawl(link) }) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - maxConcurrent: how many inner sequences may run at once, 1 or more.
    ///   - transform: makes the inner sequence of a payload. It is called in the task that reads the inner sequence.
    public func flatMap<Inner: AsyncSequence & SendableMetatype>(
        maxConcurrent: Int, _ transform: @escaping @Sendable (Element.Payload) -> Inner
    ) -> FlatMapSequence<Self, Inner, any Error> where Inner.Element: Sendable {
        FlatMapSequence(
            self, maxConcurrent: maxConcurrent, transform: { transform($0.delivery.payload) },
            delegate: {
                let settling = SettlingFlatMapDelegate<Element>()
                return FlatMapDelegate(
                    run: { await settling.run() }, read: { try await settling.read($0, of: $1) },
                    discard: { await settling.discard($0) })
            })
    }
}
