internal import PenstockCore
internal import Synchronization

/// The types of events that a bus knows by name.
final class EventTypes: Sendable {
    private struct State {
        var byName: [String: EventType] = [:]
        var byType: [ObjectIdentifier: EventType] = [:]
        /// Everything up to here has been counted, if it was unknown.
        var countedUpTo = SequenceNumber(0)
        var unknownCount = 0
    }

    private let state = Mutex(State())

    var unknownCount: Int { state.withLock { $0.unknownCount } }

    /// Makes a type known.
    ///
    /// - Throws: `invalidInput` when another one has its name, or the name cannot be one.
    @discardableResult
    func register(_ type: any Event.Type) throws(PenstockError) -> EventType {
        if let known = state.withLock({ $0.byType[ObjectIdentifier(type)] }) { return known }
        let new = EventType(type, type.eventName)
        try HeaderRules.validate(new.headers)
        guard !new.name.isEmpty else { throw PenstockError(.invalidInput, "An event's name cannot be empty.") }
        let known = state.withLock { state in
            if let known = state.byName[new.name] { return known }
            state.byName[new.name] = new
            state.byType[ObjectIdentifier(type)] = new
            return new
        }
        if ObjectIdentifier(known.kind) != ObjectIdentifier(type) {
            throw PenstockError(
                .invalidInput,
                "Two types of events are called '\(known.name)': \(String(reflecting: known.kind)) and "
                    + "\(String(reflecting: type)); give one of them an eventName of its own.")
        }
        return known
    }

    /// The event that `record` stands for. One that is unknown is counted, the first time.
    func entry(of record: LogRecord) -> EventRecord {
        let name = record.headers[EventType.header] ?? ""
        let (known, isNew) = state.withLock { state in
            let isNew = record.sequence > state.countedUpTo
            if isNew { state.countedUpTo = record.sequence }
            return (state.byName[name], isNew)
        }
        let entry = EventEntry(
            sequence: record.sequence, name: known?.name ?? name, sentAt: record.enqueuedAt, payload: record.payload)
        let reason: String
        if let known {
            do {
                return EventRecord(content: try known.read(entry))
            } catch {
                reason = "It cannot be read as \(known.kind): \(error)"
            }
        } else {
            reason = "No type of events called '\(name)' is registered here."
        }
        if isNew { state.withLock { $0.unknownCount += 1 } }
        return EventRecord(content: UnreadEvent(entry, because: reason))
    }
}
