public import PenstockCore
internal import Synchronization

/// An event of a named subscription.
public struct NamedEvent<Kind: Sendable>: Sendable {
    /// The event.
    public let event: Kind
    /// Its place in the bus's log.
    public let sequence: SequenceNumber
    let settled: SettledPlace

    /// Settles the event, and with it all before it: after a restart the subscription goes on behind it.
    ///
    /// It survives the process; a loss of power may bring the last ones again.
    ///
    /// - Throws: what the store throws; `PenstockError` with code `unknownCursor` when the subscription was removed. Not because the task
    ///   is cancelled.
    public func settle() async throws {
        try await settled.advance(to: sequence)
    }
}

/// How far the events of a named subscription are settled: as this process knows it, and on record.
final class SettledPlace: Sendable {
    private let name: CursorName
    /// `nil` for a subscription that was refused, which never comes to an event.
    private let queue: Queue<[UInt8]>?
    private let place = Mutex(Place())

    private struct Place {
        var reach = SequenceNumber(0)
        /// Events behind it that cannot be read. They are missed once it is behind them.
        var unread: Set<SequenceNumber> = []
    }

    init(_ name: CursorName, _ queue: Queue<[UInt8]>?) {
        self.name = name
        self.queue = queue
    }

    /// Everything up to here is settled, by this process or another.
    var reach: SequenceNumber { place.withLock { $0.reach } }

    /// Whether the cursor is on record as being past the event at `sequence`, by whomever it was moved.
    func isOnRecord(_ sequence: SequenceNumber) async throws -> Bool {
        guard let queue, sequence > reach else { return true }
        let cursors = try await queue.storage.status(of: queue.name).cursors
        return cursors.contains { $0.name == name && $0.sequence >= sequence }
    }

    /// Says that the event at `sequence` cannot be read.
    func noteUnread(_ sequence: SequenceNumber) {
        place.withLock { if sequence > $0.reach { $0.unread.insert(sequence) } }
    }

    /// Settles the events up to `sequence`, of which this process has given up `missed`. They count only where the cursor moves:
    /// otherwise another process has settled them. Also for a task that is cancelled: what was done is done.
    func advance(to sequence: SequenceNumber, missed: Int = 0) async throws {
        guard let queue, sequence > reach else { return }
        let unread = place.withLock { place in
            let unread = place.unread.filter { $0 <= sequence }
            place.unread.subtract(unread)
            return unread
        }
        do {
            let cursor = try await ownTask { [name] in
                try await queue.storage.moveCursor(
                    name, of: queue.name, .advance(to: sequence, missed: missed + unread.count))
            }.value
            place.withLock { $0.reach = max($0.reach, cursor?.sequence ?? sequence) }
        } catch {
            place.withLock { $0.unread.formUnion(unread) }
            throw error
        }
    }
}

/// The events of a kind behind those that were settled under a name. Made by ``EventBus/subscribe(_:named:)``, whose
/// description holds for it.
public struct NamedEventSequence<Kind: Sendable>: AsyncSequence, Sendable {
    /// What each element is.
    public typealias Element = NamedEvent<Kind>
    /// What the store throws.
    public typealias Failure = any Error

    private let subscription: LogSubscription<EventRecord>
    private let settled: SettledPlace
    private let failures: EventFailures

    init(_ subscription: LogSubscription<EventRecord>, _ settled: SettledPlace, _ failures: EventFailures) {
        self.subscription = subscription
        self.settled = settled
        self.failures = failures
    }

    /// Ends the subscription, and with it whoever iterates. Its place stays on record.
    public func cancel() {
        subscription.cancel()
    }

    /// Takes the events. There is one subscription, so they can be taken once: of a second iterator nothing comes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(LogCursor(subscription), settled, failures)
    }

    /// Takes the events.
    public struct Iterator: AsyncIteratorProtocol {
        /// What copies share beside the cursor.
        private final class Reach {
            /// The last event that was handed out, and the last that was not of the kind.
            var handedOut = SequenceNumber(0)
            var passedOver = SequenceNumber(0)
        }

        private let cursor: LogCursor<EventRecord>
        private let settled: SettledPlace
        private let failures: EventFailures
        private let reach = Reach()

        init(_ cursor: LogCursor<EventRecord>, _ settled: SettledPlace, _ failures: EventFailures) {
            self.cursor = cursor
            self.settled = settled
            self.failures = failures
        }

        /// The next event of the kind, once there is one; `nil` when the subscription or the task is cancelled.
        ///
        /// - Precondition: no other call is under way, on the iterator or on a copy: copies share the subscription.
        /// - Throws: what the store throws. Then the subscription is over.
        public mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> NamedEvent<Kind>? {
            while true {
                // Another process under the same name has settled these meanwhile.
                cursor.skip(to: settled.reach)
                if cursor.isEmpty, reach.passedOver > reach.handedOut, settled.reach >= reach.handedOut {
                    // Before the wait, so that events of other kinds are not read again, nor counted as missed.
                    do { try await settled.advance(to: reach.passedOver) } catch {
                        await cursor.end(isolation: isolation)
                        throw error
                    }
                }
                guard let item = try await cursor.next(isolation: isolation) else { return nil }
                if item.sequence <= settled.reach { continue }
                let record = try item.value.get()
                if let event = record.matched(as: Kind.self) {
                    reach.handedOut = item.sequence
                    return NamedEvent(event: event, sequence: item.sequence, settled: settled)
                }
                if let unread = record.content as? UnreadEvent,
                    (Kind.self as? any Event.Type)?.eventName == unread.entry.name
                {
                    settled.noteUnread(item.sequence)
                    failures.report(
                        .undecodable, unread.entry.name, item.sequence, PenstockError(.undecodable, unread.reason))
                }
                reach.passedOver = item.sequence
            }
        }
    }
}

@available(*, unavailable)
extension NamedEventSequence.Iterator: Sendable {}

extension EventBus {
    /// Subscribes to a kind of events under a name, by which the subscription goes on after a restart behind the last
    /// event that was settled. Only on a store; in memory the iterator throws `invalidInput`.
    ///
    /// - The first time, it begins with what is sent from now on. Its place is a cursor of the bus's log
    ///   (`penstock_cursors`), which stays until ``removeSubscription(named:)``.
    /// - Every event of the kind is given until it is settled: at least once. Settling one settles those before it.
    /// - Events that the bus no longer keeps when the subscription comes to them are missed, and the cursor counts them,
    ///   of whatever kind. So are events of the type that cannot be read as it, and `onFailure` is told of those: a type whose events
    ///   are on record changes as its JSON allows.
    /// - A name is for one kind: the place of the subscription passes over events of other kinds. To have several kinds under one name,
    ///   subscribe to a protocol of theirs. Another kind is refused by the same bus object; between processes, and from one
    ///   start to the next, the program sees to it.
    /// - When several use the name at once, in one process or in several, each event is given to at least one of them, and
    ///   often to more than one: what one has settled is not given to the others any more once they hear of it. To share
    ///   work so that each event has one worker, use a queue.
    ///
    /// ```swift
    /// for try await order in bus.subscribe(OrderPlaced.self, named: "mailer") {
    ///     try await sendMail(order.event)
    ///     try await order.settle()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - kind: as in ``subscribe(_:)``.
    ///   - name: the subscription's name, of 1 to 200 bytes. A name that cannot be makes the iterator throw
    ///     `invalidInput`; so does a type of events whose name another type has, and a name that this bus object has for another kind.
    public func subscribe<Kind: Sendable>(
        _ kind: Kind.Type = Kind.self, named name: String
    ) -> NamedEventSequence<Kind> {
        let cursor = CursorName(stored: name)
        do {
            try makeKnown(kind)
            _ = try CursorName(name)
            let buffer = try logBuffer()
            try buffer.requireOne(kind, named: cursor)
            return NamedEventSequence(
                LogSubscription(hub, from: buffer.beginning(named: cursor)), SettledPlace(cursor, buffer.queue),
                failures)
        } catch {
            let refused = Waiter<LogBeginning>()
            refused.answer(.failure(error))
            return NamedEventSequence(LogSubscription(hub, from: refused), SettledPlace(cursor, nil), failures)
        }
    }

    /// Removes the place of a named subscription. Whoever uses it is told `unknownCursor` when it settles.
    ///
    /// - Returns: whether there was one of that name.
    @discardableResult
    public func removeSubscription(named name: String) async throws -> Bool {
        let cursor = try CursorName(name)
        let buffer = try logBuffer()
        return try await buffer.writer.inTurn { [queue = buffer.queue] in
            try await queue.storage.moveCursor(cursor, of: queue.name, .remove) != nil
        }
    }

    func logBuffer() throws(PenstockError) -> LogBuffer {
        guard case .log(let buffer) = place else {
            throw PenstockError(
                .invalidInput, "A bus in memory has no named subscriptions; open the bus in a store.")
        }
        return buffer
    }
}
