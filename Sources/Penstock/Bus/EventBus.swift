internal import Logging
public import PenstockCore
internal import Synchronization

/// Tells of events of many kinds, in memory or on a store.
///
/// ```swift
/// let bus = try await EventBus.open(in: store)
/// let token = bus >> { (order: OrderPlaced) in print("order", order.id) }
/// bus << OrderPlaced(id: 7)
/// ```
///
/// - A subscriber gets the events of its kind that come after its subscription: in one order for all, and none twice. The
///   kind is a type of events, or a protocol, a base class or `any Event` for all that conform to it.
/// - What one task or thread does with the bus happens in that order: a subscription gets what is sent after it, and not
///   what was sent before.
/// - A subscription lasts until it is cancelled or its token or sequence is let go. Then its handler is released.
/// - Everything is bounded in number, and events that are on their way into a store in bytes as well; events in a bus in memory
///   are not. Subscribers share what is kept of events; a slow one holds nobody back.
///
/// In memory, events stay what they are and are never decoded. A subscriber that is more than the bus's `backlog` behind
/// goes on with what is left.
///
/// On a store, events are messages in the log of the queue that has the bus's name, in JSON; everybody who opens the bus
/// in the same file, in this process or another, is on the same bus. An event is told when it is committed, which
/// may be a moment before it is on the disk: after a power cut the log may lack the last ones that were told. For events of
/// other bus objects, a subscription begins when the store has said where its log ends, soon after the call: what others
/// send after ``flush()`` has returned is told to it.
///
/// The type of an event has to be known to the process that decodes it: ``send(_:)`` and subscriptions to it make it known,
/// ``register(_:)`` does for those that are told as a protocol or a base class. An event whose type is not known here stays
/// where it is, is passed over, counted, and told to those who subscribe to ``UnknownEvent`` or ``EventRecord``.
public final class EventBus: Sendable {
    /// How many events a bus keeps unless it is told otherwise.
    public static var bufferLengthDefault: Int { 10_000 }
    /// How many events the log of a bus on a store keeps beyond its buffer, for subscribers that are behind.
    public static var backlogOnStore: Int { 1024 }
    /// How many events may be on their way into a store that were handed over with `<<`.
    public static var handedOverMax: Int { 10_000 }
    /// Bytes of those events as JSON, but for the one that exceeds them: 64 MiB.
    public static var handedOverBytesMax: Int { 64 * 1024 * 1024 }

    /// Where the events are.
    enum Place: Sendable {
        case memory(MemoryBuffer)
        case log(LogBuffer)
    }

    let place: Place
    let hub: LogHub<EventRecord>
    let types: EventTypes
    let failures: EventFailures

    /// Makes a bus in memory.
    ///
    /// - Parameters:
    ///   - bufferLength: how many events ``replay(count:_:)`` can give, 0 or more.
    ///   - backlog: how many events a slow subscriber may be behind before it misses some, 1 or more.
    ///   - onFailure: told of what goes wrong where nobody waits for it.
    public init(
        bufferLength: Int = bufferLengthDefault, backlog: Int = 1024,
        onFailure: @escaping @Sendable (EventBusFailure) -> Void = { _ in }
    ) {
        precondition(bufferLength >= 0, "A bus cannot keep fewer than no events.")
        precondition(backlog >= 1, "A subscriber needs a backlog of at least one event.")
        types = EventTypes()
        failures = EventFailures(logger: nil, onFailure)
        let buffer = MemoryBuffer(length: bufferLength, backlog: backlog)
        place = .memory(buffer)
        hub = buffer.hub
    }

    private init(_ buffer: LogBuffer, _ types: EventTypes, _ failures: EventFailures) {
        place = .log(buffer)
        hub = buffer.hub
        self.types = types
        self.failures = failures
    }

    deinit {
        // Nobody can send any more to a bus in memory. On a store, others can.
        if case .memory = place { hub.finish() }
    }

    /// Opens the bus called `name` in a store, and makes it when there is none.
    ///
    /// - Parameters:
    ///   - store: the store, which must stay open.
    ///   - name: the bus's name, which is that of a queue.
    ///   - types: types of events to make known, as ``register(_:)`` does.
    ///   - bufferLength: how many events ``replay(count:_:)`` can give, in all processes. The log keeps
    ///     ``backlogOnStore`` more, for subscribers that are behind. `nil`: as many as the bus was told before, or
    ///     ``bufferLengthDefault`` for a new one. Opening forgets nothing. What is beyond a smaller one and
    ///     ``backlogOnStore`` is forgotten from the next event on, and within a minute where a worker or a server runs. While
    ///     a named subscription is further behind than that, the bus keeps as many as before (``bufferLength`` tells), until it is
    ///     opened with a smaller one again or ``setBufferLength(_:)`` is called.
    ///   - onFailure: told of what goes wrong where nobody waits for it. The store's logger is told as well.
    /// - Throws: `PenstockError` with code `invalidInput` for a name or number that cannot be; what the store throws.
    public static func open(
        in store: PenstockStore, named name: String = "events", types: [any Event.Type] = [],
        bufferLength: Int? = nil, onFailure: @escaping @Sendable (EventBusFailure) -> Void = { _ in }
    ) async throws -> EventBus {
        let known = EventTypes()
        for type in types { try known.register(type) }
        let buffer = try await LogBuffer.open(in: store, named: name, length: bufferLength, known)
        return EventBus(buffer, known, EventFailures(logger: store.handle.logger, onFailure))
    }

    /// Makes a type of events known, so that one that is on record can be told as a protocol or base class it conforms to.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when another type has its name.
    public func register(_ type: any Event.Type) throws {
        try types.register(type)
    }

    /// How many events were passed over, since this bus was opened, that are of no type known here. Each counts once, for the
    /// subscriber that is furthest: what a named one reads behind others, as it goes on after a restart, is not counted.
    public var unknownCount: Int { types.unknownCount }
}

/// Sending.
extension EventBus {
    /// Sends an event, after everything that this caller has sent or handed over before. Returns when it is committed,
    /// with the durability of the store; in memory, at once.
    ///
    /// - Returns: the event's place.
    /// - Throws: what encoding throws; `PenstockError` with code `invalidInput` when another type has the same name, or
    ///   what the store throws; `CancellationError` when the task is cancelled before the writing began. After each of
    ///   these nobody gets the event, but after `outcomeUnknown` nobody knows: it may be on record, where every subscriber gets it,
    ///   and would get it again if it were sent again.
    @discardableResult
    public func send(_ event: some Event) async throws -> SequenceNumber {
        let known = try types.register(type(of: event))
        switch place {
        case .memory(let buffer): return buffer.publish(event)
        case .log(let buffer): return try await buffer.writer.append(try known.message(of: event)).sequence
        }
    }

    /// Hands an event over, and does not wait. In memory it is sent with that.
    ///
    /// On a store it will be sent after everything that this caller has sent or handed over before, and many go in one
    /// transaction. It is on its way, and not yet on record: it is lost when the process is killed before
    /// ``flush()`` or a later ``send(_:)`` returns. Closing the store writes what was handed over. An event that cannot be
    /// encoded or written, or that finds ``handedOverMax`` others or ``handedOverBytesMax`` bytes of them on their way, is not sent,
    /// and `onFailure` is told. Of an error with code `outcomeUnknown` nobody knows whether it was.
    public static func << (bus: EventBus, event: some Event) {
        do {
            let known = try bus.types.register(type(of: event))
            switch bus.place {
            case .memory(let buffer): buffer.publish(event)
            case .log(let buffer):
                try buffer.writer.handOver(
                    try known.message(of: event), limit: handedOverMax, bytesLimit: handedOverBytesMax
                ) { [failures = bus.failures] result in
                    if case .failure(let error) = result { failures.report(.handOver, known.name, nil, error) }
                }
            }
        } catch {
            bus.failures.report(.handOver, type(of: event).eventName, nil, error)
        }
    }

    /// Returns when everything that was handed over before is on record, or `onFailure` was told of it, and when the
    /// subscriptions that were made before with this object have begun.
    public func flush() async {
        if case .log(let buffer) = place { await buffer.writer.flush() }
    }
}

/// Tells whoever wants to know of what goes wrong where nobody waits for it.
final class EventFailures: Sendable {
    private let logger: Logger?
    private let onFailure: @Sendable (EventBusFailure) -> Void

    init(logger: Logger?, _ onFailure: @escaping @Sendable (EventBusFailure) -> Void) {
        self.logger = logger
        self.onFailure = onFailure
    }

    func report(_ kind: EventBusFailure.Kind, _ name: String?, _ sequence: SequenceNumber?, _ error: any Error) {
        let failure = EventBusFailure(kind: kind, eventName: name, sequence: sequence, error: error)
        logger?.warning("\(failure)")
        onFailure(failure)
    }
}
