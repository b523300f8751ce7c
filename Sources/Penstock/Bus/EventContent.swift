internal import PenstockCore

/// What there is of one event. Each of many subscribers has a reference to it, and no copy.
@usableFromInline
protocol EventContent: AnyObject, Sendable {
    var entry: EventEntry { get }
    var event: (any Event)? { get }
}

/// An event as it is on record.
@usableFromInline
struct EventEntry: Sendable {
    let sequence: SequenceNumber
    let name: String
    let sentAt: Timestamp
    let payload: [UInt8]
}

/// An event whose type is known. That is what most subscribers ask for, and finding it out by the class of this is much less
/// than a cast of the event.
@usableFromInline
final class KnownEvent<Value: Sendable>: EventContent {
    @usableFromInline let entry: EventEntry
    @usableFromInline let value: Value
    private let asEvent: any Event

    init(_ entry: EventEntry, _ value: Value) where Value: Event {
        self.entry = entry
        self.value = value
        asEvent = value
    }

    @usableFromInline var event: (any Event)? { asEvent }
}

/// An event that this program cannot tell what it is.
final class UnreadEvent: EventContent {
    let entry: EventEntry
    let reason: String

    init(_ entry: EventEntry, because reason: String) {
        self.entry = entry
        self.reason = reason
    }

    var event: (any Event)? { nil }
}

extension EventRecord {
    /// The event as somebody gets it who subscribed to `Kind`; `nil` when it is not for him.
    ///
    /// Compiled in the program that subscribes: where the kind is known, nothing is looked up for each event.
    @inlinable
    func matched<Kind: Sendable>(as kind: Kind.Type) -> Kind? {
        if let known = content as? KnownEvent<Kind> { return known.value }
        if let event = content.event {
            if let matched = event as? Kind { return matched }
        } else if kind == UnknownEvent.self {
            return UnknownEvent(record: self) as? Kind
        }
        return kind == EventRecord.self ? self as? Kind : nil
    }
}
