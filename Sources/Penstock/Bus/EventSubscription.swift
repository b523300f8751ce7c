internal import PenstockCore

/// A subscription with a handler. Cancelling it or letting it go ends the subscription, and releases the handler; one
/// that runs just then is cancelled, and released when it returns.
public final class EventSubscription: Sendable {
    private let end: @Sendable () -> Void
    private let task: Task<Void, Never>

    init(_ end: @escaping @Sendable () -> Void, _ task: Task<Void, Never>) {
        self.end = end
        self.task = task
    }

    deinit {
        cancel()
    }

    /// Ends the subscription.
    public func cancel() {
        end()
        task.cancel()
    }

    /// Returns when the subscription has ended and its handler does not run any more.
    public func waitForEnd() async {
        await task.value
    }
}

/// Events that were read together, for one subscription with a handler.
@usableFromInline
struct EventPortion: Sendable {
    private let items: ArraySlice<LogItem<EventRecord>>
    private var taken: Int
    private let subscription: LogSubscription<EventRecord>
    private let failures: EventFailures

    init(
        _ items: ArraySlice<LogItem<EventRecord>>, _ subscription: LogSubscription<EventRecord>,
        _ failures: EventFailures
    ) {
        self.items = items
        taken = items.startIndex
        self.subscription = subscription
        self.failures = failures
    }

    /// The next one; `nil` after the last, and when the subscription is over.
    @usableFromInline
    mutating func next() throws -> EventRecord? {
        guard taken < items.endIndex, !subscription.isOver else { return nil }
        defer { taken += 1 }
        return try items[taken].value.get()
    }

    /// The handler threw `error`. Nobody is told when the subscription is over.
    @usableFromInline
    func report(_ error: any Error, of record: EventRecord) {
        if !subscription.isOver { failures.report(.handler, record.name, record.sequence, error) }
    }
}

/// The events of a kind, as they come. Made by ``EventBus/subscribe(_:)``, whose description holds for it.
public struct EventSequence<Kind: Sendable>: AsyncSequence, Sendable {
    /// What the store throws.
    public typealias Failure = any Error

    private let subscription: LogSubscription<EventRecord>

    init(_ subscription: LogSubscription<EventRecord>) {
        self.subscription = subscription
    }

    /// Ends the subscription, and with it whoever iterates.
    public func cancel() {
        subscription.cancel()
    }

    /// Takes the events. There is one subscription, so they can be taken once: of a second iterator nothing comes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(cursor: LogCursor(subscription))
    }

    /// Takes the events.
    public struct Iterator: AsyncIteratorProtocol {
        private let cursor: LogCursor<EventRecord>

        init(cursor: LogCursor<EventRecord>) {
            self.cursor = cursor
        }

        /// The next event of the kind, once there is one; `nil` when the subscription or the task is cancelled.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the subscription.
        /// - Throws: what the store throws. Then the subscription is over.
        public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Kind? {
            repeat {
                while !Task.isCancelled, let entry = cursor.takeNext() {
                    if let event = try entry.value.get().matched(as: Kind.self) { return event }
                }
            } while try await cursor.fill(isolation: isolation)
            return nil
        }
    }
}

@available(*, unavailable)
extension EventSequence.Iterator: Sendable {}

extension EventBus {
    /// Subscribes to a kind of events: those that are sent from now on, in one order for all, and none twice. The
    /// subscription lasts until the sequence and its iterator are let go, ``EventSequence/cancel()`` is called, or the
    /// task that iterates is cancelled.
    ///
    /// ```swift
    /// for try await order in bus.subscribe(OrderPlaced.self) { … }
    /// ```
    ///
    /// - Parameter kind: a type of events; a protocol as `(any Paid).self`, or a base class, for all that conform;
    ///   ``UnknownEvent`` or ``EventRecord``. On a store the iterator throws `invalidInput` for a type of events whose name another
    ///   type has.
    public func subscribe<Kind: Sendable>(_ kind: Kind.Type = Kind.self) -> EventSequence<Kind> {
        EventSequence(subscription(to: kind))
    }

    /// Subscribes to a kind of events with a handler, which gets one after the other. It is told as ``subscribe(_:)``
    /// tells, by a task that belongs to the token. What it throws goes to `onFailure`, and it gets the next event. So does what
    /// ends the subscription.
    ///
    /// - Returns: the token. Letting it go ends the subscription.
    @inlinable
    public func subscribe<Kind: Sendable>(
        _ kind: Kind.Type = Kind.self, handler: @escaping @Sendable (Kind) async throws -> Void
    ) -> EventSubscription {
        subscribe(to: kind) { events in
            var events = events
            while let record = try events.next() {
                guard let event = record.matched(as: kind) else { continue }
                do {
                    try await handler(event)
                } catch {
                    events.report(error, of: record)
                }
            }
        }
    }

    /// Subscribes to a kind of events, and is told of all others as well: `body` is given what was read together, one after the other.
    @usableFromInline
    func subscribe<Kind: Sendable>(
        to kind: Kind.Type, taking body: @escaping @Sendable (EventPortion) async throws -> Void
    ) -> EventSubscription {
        let subscription = subscription(to: kind)
        let task = Task { [failures] in
            let cursor = LogCursor(subscription)
            do {
                while try await cursor.fill() {
                    try await body(EventPortion(cursor.takeAll(), subscription, failures))
                }
            } catch {
                failures.report(.subscription, nil, nil, error)
            }
        }
        return EventSubscription({ subscription.cancel() }, task)
    }

    /// Subscribes a handler to the kind of events that it takes, as ``subscribe(_:handler:)`` does.
    ///
    /// ```swift
    /// let token = bus >> { (order: OrderPlaced) in print(order.id) }
    /// ```
    ///
    /// - Returns: the token. Letting it go ends the subscription.
    @inlinable
    public static func >> <Kind: Sendable>(
        bus: EventBus, handler: @escaping @Sendable (Kind) async throws -> Void
    ) -> EventSubscription {
        bus.subscribe(Kind.self, handler: handler)
    }

    private func subscription<Kind>(to kind: Kind.Type) -> LogSubscription<EventRecord> {
        let look: Waiter<LogBeginning>
        do {
            try makeKnown(kind)
            look =
                switch place {
                case .memory(let buffer): buffer.beginning()
                case .log(let buffer): buffer.writer.beginning(last: 0)
                }
        } catch {
            look = Waiter()
            look.answer(.failure(error))
        }
        return LogSubscription(hub, from: look)
    }
}
