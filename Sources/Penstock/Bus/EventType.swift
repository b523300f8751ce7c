internal import Foundation
internal import PenstockCore

/// A type of events that is known by name, and how its events become payloads and back.
final class EventType: Sendable {
    /// The header that names an event's type.
    static let header = "event"

    let kind: any Event.Type
    let name: String
    let headers: [String: String]

    // Making either of these costs as much as using it. Nobody changes them.
    private static let encoder = JSONEncoder.forPayloads()
    private static let decoder = JSONDecoder()

    init(_ kind: any Event.Type, _ name: String) {
        self.kind = kind
        self.name = name
        headers = [Self.header: name]
    }

    /// A message that carries `event` as JSON, with keys in order, so that equal events have equal payloads.
    func message(of event: some Event) throws -> NewMessage {
        NewMessage(payload: try [UInt8](Self.encoder.encode(event)), headers: headers)
    }

    func read(_ entry: EventEntry) throws -> any EventContent {
        try read(entry, as: kind)
    }

    private func read<Kind: Event>(_ entry: EventEntry, as type: Kind.Type) throws -> any EventContent {
        KnownEvent(entry, try Self.decoder.decode(type, from: Data(entry.payload)))
    }
}
