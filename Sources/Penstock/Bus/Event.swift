public import PenstockCore

/// Something that happened, of which an ``EventBus`` tells.
///
/// On a store an event is a row, so it outlives the program that sent it: what a later version of the type reads must be
/// what an earlier one wrote, and ``eventName`` must stay.
///
/// ```swift
/// struct OrderPlaced: Event {
///     var id: Int
/// }
/// ```
public protocol Event: Codable, Sendable {
    /// By what name events of this type are on record. No two types of one bus may have the same.
    static var eventName: String { get }
}

extension Event {
    /// The type's own name, without those of its module and of the types around it.
    public static var eventName: String { String(describing: Self.self) }
}

/// An event as it is on record, whether or not this program knows its type. Subscribe to this type to see all that a bus
/// has: `bus.subscribe(EventRecord.self)`.
public struct EventRecord: Sendable {
    @usableFromInline let content: any EventContent

    /// Its place in the bus's log; in memory 1, 2, 3, …
    public var sequence: SequenceNumber { content.entry.sequence }
    /// The name of its type.
    public var name: String { content.entry.name }
    /// When it was accepted.
    public var sentAt: Timestamp { content.entry.sentAt }
    /// The event as JSON; empty in memory, where events stay what they are.
    public var payload: [UInt8] { content.entry.payload }
    /// The event, unless this program cannot tell what it is.
    public var event: (any Event)? { content.event }
    /// Why there is no event: its type is not registered here, or what was written cannot be read as that type.
    public var unknownBecause: String? { (content as? UnreadEvent)?.reason }
}

/// An event that this program cannot tell what it is: its type is not registered here, or what was written cannot be read
/// as that type. Subscribe to this type to see only those: `bus.subscribe(UnknownEvent.self)`.
public struct UnknownEvent: Sendable {
    /// The event as it is on record.
    public let record: EventRecord

    @usableFromInline
    init(record: EventRecord) {
        self.record = record
    }
}

/// Something that went wrong where nobody waited for it.
public struct EventBusFailure: Error, Sendable, CustomStringConvertible {
    /// What it was that went wrong.
    public enum Kind: Sendable {
        /// An event that was handed over with `<<` was not sent, and nobody gets it; when the error has the code `outcomeUnknown`,
        /// nobody knows whether it was.
        case handOver
        /// A handler threw. A named subscription hands it the event again, later, unless another process has settled it
        /// meanwhile.
        case handler
        /// A handler of a named subscription has thrown as often as it may, and the subscription goes on without it. Its
        /// cursor counts the event as missed.
        case gaveUp
        /// An event of the type that a named subscription is for cannot be read, such as one that an older program wrote, and is
        /// passed over. Its cursor counts the event as missed.
        case undecodable
        /// A subscription with a handler has ended, since the bus's log cannot be read, or its place not be written.
        case subscription
    }

    /// What went wrong.
    public let kind: Kind
    /// The name of the event's type, where it is about one event.
    public let eventName: String?
    /// The event's place in the log, where it has one.
    public let sequence: SequenceNumber?
    /// The error underneath.
    public let error: any Error

    /// The failure in a sentence.
    public var description: String {
        let what = eventName.map { " \($0)" } ?? ""
        let place = sequence.map { " (message \($0))" } ?? ""
        return switch kind {
        case .handOver: "An event\(what) was not sent: \(error)"
        case .handler: "A handler failed on an event\(what)\(place): \(error)"
        case .gaveUp: "A handler failed too often on an event\(what)\(place), which is passed over: \(error)"
        case .undecodable: "An event\(what)\(place) cannot be read, and is passed over: \(error)"
        case .subscription: "A subscription has ended: \(error)"
        }
    }
}
