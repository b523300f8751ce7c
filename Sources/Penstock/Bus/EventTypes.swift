internal import Foundation
internal import PenstockCore
internal import Synchronization

/// The types of events that a bus knows by name, and how events become payloads and back.
final class EventTypes: Sendable {
    /// The header that names an event's type.
    static let header = "event"

    private struct State {
        var types: [String: any Event.Type] = [:]
        /// Everything up to here has been counted, if it was unknown.
        var countedUpTo = SequenceNumber(0)
        var unknownCount = 0
    }

    private let state = Mutex(State())

    var unknownCount: Int { state.withLock { $0.unknownCount } }

    /// Makes a type known.
    ///
    /// - Throws: `invalidInput` when another one has its name, or the name cannot be one.
    func register(_ type: any Event.Type) throws(PenstockError) {
        let name = type.eventName
        try HeaderRules.validate([Self.header: name])
        guard !name.isEmpty else { throw PenstockError(.invalidInput, "An event's name cannot be empty.") }
        let known = state.withLock { state in
            let known = state.types[name]
            if known == nil { state.types[name] = type }
            return known
        }
        if let known, ObjectIdentifier(known) != ObjectIdentifier(type) {
            throw PenstockError(
                .invalidInput,
                "Two types of events are called '\(name)': \(String(reflecting: known)) and "
                    + "\(String(reflecting: type)); give one of them an eventName of its own.")
        }
    }

    /// The message that `event` is on record as.
    func message(of event: any Event) throws -> NewMessage {
        let type = Swift.type(of: event)
        try register(type)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return NewMessage(payload: try [UInt8](encoder.encode(event)), headers: [Self.header: type.eventName])
    }

    /// The event that `record` stands for. One that is unknown is counted, the first time.
    func entry(of record: LogRecord) -> EventRecord {
        let name = record.headers[Self.header] ?? ""
        var event: (any Event)?
        var unknownBecause: String?
        if let type = state.withLock({ $0.types[name] }) {
            do {
                event = try JSONDecoder().decode(type, from: Data(record.payload))
            } catch {
                unknownBecause = "It cannot be read as \(type): \(error)"
            }
        } else {
            unknownBecause = "No type of events called '\(name)' is registered here."
        }
        state.withLock { state in
            guard record.sequence > state.countedUpTo else { return }
            state.countedUpTo = record.sequence
            if event == nil { state.unknownCount += 1 }
        }
        return EventRecord(
            sequence: record.sequence, name: name, sentAt: record.enqueuedAt, payload: record.payload, event: event,
            unknownBecause: unknownBecause)
    }

    /// `entry` as somebody gets it who subscribed to `Kind`; `nil` when it is not for him.
    static func match<Kind: Sendable>(_ entry: EventRecord, as kind: Kind.Type) -> Kind? {
        if let event = entry.event, let matched = event as? Kind { return matched }
        if kind == EventRecord.self { return entry as? Kind }
        if kind == UnknownEvent.self, entry.event == nil { return UnknownEvent(record: entry) as? Kind }
        return nil
    }
}
