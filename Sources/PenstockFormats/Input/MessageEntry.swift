package import PenstockCore

/// A message as somebody has written it into a JSON object.
package struct MessageEntry {
    /// The members that every message may have.
    package static let members: Set<String> = [
        "payload", "payloadBase64", "headers", "priority", "delay", "at", "attempts", "group", "expires",
    ]
    /// Those of a message that goes into a queue by itself, beside ``members``.
    package static let keyMembers: Set<String> = ["kind", "key", "keyScope", "ifExists", "debounceMax"]

    package private(set) var message: NewMessage
    private var payload: PayloadEntry

    /// - Throws: `PenstockError` when a value is none; what the decoder throws.
    package init(_ members: Members, now: Timestamp) throws {
        payload = try PayloadEntry(members)
        message = NewMessage(
            payload: payload.bytes, headers: try members.value("headers") ?? [:],
            priority: try members.value("priority") ?? 0, due: try Self.due(members, now),
            attemptsMax: try members.value("attempts"), uniqueKey: try Self.uniqueKey(members),
            group: try members.value("group"),
            expiry: try Self.expiry(members, now))
        if let kind: String = try members.value("kind") {
            message.headers[KindName.header] = try KindName(kind).text
        }
    }

    /// Takes a payload that is no text as it stands; see ``PayloadEntry/take(from:)``.
    package mutating func takePayload(of written: ArraySlice<UInt8>) throws(PenstockError) {
        try payload.take(from: written)
        message.payload = payload.bytes
    }

    private static func due(_ members: Members, _ now: Timestamp) throws -> Due {
        let (delay, moment): (Duration?, String?) = (try members.duration("delay"), try members.value("at"))
        switch (delay, moment) {
        case (nil, nil): return .now
        case (let delay?, nil): return .after(delay)
        case (nil, let moment?): return .at(try TimeText.parse(moment, now: now))
        default: throw PenstockError(.invalidInput, "it has a \"delay\" and an \"at\"; leave one of them out.")
        }
    }

    private static func expiry(_ members: Members, _ now: Timestamp) throws -> Expiry? {
        switch try members.value("expires") as WrittenDuration? {
        case nil: nil
        case .text(let text): try ExpiryText.parse(text, now: now)
        case .seconds(let duration): .after(duration)
        }
    }

    private static func scope(_ members: Members) throws -> KeyScope {
        switch try members.value("keyScope") as WrittenDuration? {
        case nil: .untilEnded
        case .text(let text): try KeyScopeText.parse(text)
        case .seconds(let period): .period(period)
        }
    }

    private static func uniqueKey(_ members: Members) throws -> UniqueKey? {
        guard let key: String = try members.value("key") else {
            for name in ["keyScope", "ifExists", "debounceMax"] where members.has(name) {
                throw PenstockError(.invalidInput, "its \"\(name)\" goes with a \"key\".")
            }
            return nil
        }
        return UniqueKey(
            key, scope: try scope(members),
            onConflict: try (members.value("ifExists") as String?).map(KeyScopeText.conflict) ?? .skip,
            waitMax: try members.duration("debounceMax"))
    }
}
