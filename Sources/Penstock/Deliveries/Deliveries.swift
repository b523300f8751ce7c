internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

extension Queue {
    /// The queue's messages as this process gets them, each under a lease.
    ///
    /// - Claims only when somebody awaits the next one, and then as many at once as may be in flight and are not.
    /// - Gives messages by priority, and then by sequence. Suspends while none is ready.
    /// - Holds at most `inFlightMax` messages: the next one comes when an earlier one is settled, or its lease ends.
    ///   Nobody extends a lease but ``Delivery/extend(by:)``.
    /// - Claims exactly as many as are asked for, whatever `inFlightMax` says, when `flatMap(maxConcurrent:_:)` is
    ///   directly behind it. That one settles and extends by itself.
    /// - Makes a message whose payload cannot be decoded a dead letter with the reason, and goes on.
    /// - Gives back what was claimed and not yet handed out when the reader is cancelled or lets its iterator go.
    /// - Never finishes by itself; throws `CancellationError` when the task is cancelled, and what the store throws.
    ///
    /// Each iterator is a reader of its own.
    ///
    /// ```swift
    /// for try await delivery in orders.deliveries() {
    ///     try await ship(delivery.payload)
    ///     try await delivery.done()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - inFlightMax: how many messages may be claimed and not settled, 1 to `Limits.batchCountMax`.
    ///   - lease: how long each lease lasts unless it is extended, within `Limits.leaseRange`. Another value makes the
    ///     iterator throw `invalidInput`.
    public func deliveries(inFlightMax: Int = 1, lease: Duration = .seconds(30)) -> Deliveries<Element> {
        Deliveries(queue: self, limits: ReaderLimits(inFlightMax: inFlightMax, lease: lease))
    }
}

/// A queue's messages, each under a lease. Made by ``Queue/deliveries(inFlightMax:lease:)``, whose description holds
/// for it.
public struct Deliveries<Element: Sendable>: AsyncSequence, Sendable {
    /// What the store throws, or `CancellationError`.
    public typealias Failure = any Error

    let queue: Queue<Element>
    let limits: ReaderLimits

    /// Begins a reader. It claims nothing before the first `next()`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: DeliveryReader(queue: queue, limits: limits))
    }

    /// One reader.
    public struct Iterator: AsyncIteratorProtocol, DemandedIterator, ClosableIterator {
        let reader: DeliveryReader<Element>

        @usableFromInline package var request: @Sendable (Int) -> Void {
            { [requested = reader.requested] count in requested.add(count) }
        }

        /// The next message, once there is one.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the reader.
        /// - Throws: what the store throws; `CancellationError` when the task is cancelled.
        public mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> Delivery<Element>? {
            try await reader.next(isolation: isolation)
        }

        @usableFromInline package func close() async {
            await reader.close()
        }
    }
}

@available(*, unavailable)
extension Deliveries.Iterator: Sendable {}

/// How much a reader wants.
struct ReaderLimits: Sendable {
    /// How many messages may be claimed and not settled.
    var inFlightMax: Int
    /// How long a lease lasts.
    var lease: Duration

    func validate() throws(PenstockError) {
        try ClaimRequest(queue: QueueName(stored: "any"), limit: inFlightMax, lease: lease).validate()
    }
}

/// How many messages were asked of a reader before somebody comes for them.
final class RequestedCount: Sendable {
    private let inside = Mutex<Int?>(nil)

    /// `nil` when nobody asks in advance.
    var count: Int? { inside.withLock { $0 } }

    func add(_ more: Int) {
        inside.withLock { $0 = ($0 ?? 0).addingUpToMax(more) }
    }
}
