import Foundation
import HTTPTypes
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What the headers of a request say of the message that its body is.
///
/// HTTP knows no capitals in the names of headers, so those of the message are in small letters. Their values are UTF-8, and one that is
/// not is refused: SwiftNIO has put U+FFFD for what it could not read, and two keys would be one.
struct MessageHead {
    /// The message, without its payload.
    var message = NewMessage(payload: [])
    var durability = Durability.powerLoss
    var idempotencyKey: IdempotencyKey?

    private static let options: Set<String> = [
        "priority", "delay", "at", "key", "key-scope", "if-exists", "debounce-max", "group", "expires", "attempts",
        "kind",
        "durability",
    ]
    private static let prefix = "penstock-"
    private static let headerPrefix = "penstock-header-"
    /// What a body is called by programs that nobody has told what it is: `curl --data` says so of everything.
    private static let unsaid = "application/x-www-form-urlencoded"

    /// - Throws: a problem with status 400 that names the header.
    init(_ fields: HTTPFields, _ principal: Principal, now: Timestamp) throws(Problem) {
        var options: [String: String] = [:]
        for field in fields {
            let name = field.name.canonicalName
            switch name {
            case "idempotency-key":
                guard idempotencyKey == nil else { throw Self.twice(name) }
                do { idempotencyKey = try IdempotencyKey(field.value, of: principal) } catch { throw Problem(error) }
            case "content-type":
                let value = try Self.value(of: field)
                if !value.lowercased().hasPrefix(Self.unsaid) { try add(value, to: name) }
            case "traceparent": try add(Self.value(of: field), to: name)
            // Of these there may be several, which are one list.
            case "tracestate", "baggage":
                let value = try Self.value(of: field)
                message.headers[name] = message.headers[name].map { "\($0),\(value)" } ?? value
            case _ where name.hasPrefix("ce-"): try add(Self.decoded(Self.value(of: field)), to: name)
            case _ where name.hasPrefix(Self.headerPrefix):
                try add(Self.value(of: field), to: String(name.dropFirst(Self.headerPrefix.count)))
            case _ where name.hasPrefix(Self.prefix):
                let option = String(name.dropFirst(Self.prefix.count))
                guard Self.options.contains(option) else {
                    throw Problem.invalid(
                        "There is no header Penstock-\(Escape.text(option)); a header of the message is "
                            + "Penstock-Header-NAME, and the others are \(Self.options.sorted().joined(separator: ", "))."
                    )
                }
                guard options.updateValue(try Self.value(of: field), forKey: option) == nil else {
                    throw Self.twice(name)
                }
            default: continue
            }
        }
        do {
            try apply(options, now)
        } catch let error as Problem {
            throw error
        } catch {
            throw Problem.invalid("\(error)")
        }
    }

    private mutating func add(_ value: String, to name: String) throws(Problem) {
        guard message.headers.updateValue(value, forKey: name) == nil else { throw Self.twice(name) }
    }

    private mutating func apply(_ options: [String: String], _ now: Timestamp) throws {
        func number(_ name: String) throws(Problem) -> Int? {
            guard let text = options[name] else { return nil }
            guard let number = Int(text) else { throw Problem.invalid("Penstock-\(name) is a whole number.") }
            return number
        }
        message.priority = try number("priority") ?? 0
        message.attemptsMax = try number("attempts")
        message.group = options["group"]
        switch (options["delay"], options["at"]) {
        case (nil, nil): break
        case (let delay?, nil): message.due = .after(try DurationText.parse(delay))
        case (nil, let moment?): message.due = .at(try TimeText.parse(moment, now: now))
        default: throw Problem.invalid("The message has a Penstock-Delay and a Penstock-At; leave one of them out.")
        }
        message.expiry = try options["expires"].map { try ExpiryText.parse($0, now: now) }
        if let kind = options["kind"] { message.headers[KindName.header] = try KindName(kind).text }
        if let text = options["durability"] {
            guard let known = Durability(rawValue: text) else {
                throw Problem.invalid("Penstock-Durability is powerLoss or processCrash.")
            }
            durability = known
        }
        message.uniqueKey = try uniqueKey(options)
    }

    private func uniqueKey(_ options: [String: String]) throws -> UniqueKey? {
        guard let key = options["key"] else {
            for name in ["key-scope", "if-exists", "debounce-max"] where options[name] != nil {
                throw Problem.invalid("Penstock-\(name) goes with a Penstock-Key.")
            }
            return idempotencyKey?.uniqueKey
        }
        if idempotencyKey != nil { throw IdempotencyKey.besideKey }
        let uniqueKey = UniqueKey(
            key, scope: try options["key-scope"].map(KeyScopeText.parse) ?? .untilEnded,
            onConflict: try options["if-exists"].map(KeyScopeText.conflict) ?? .skip,
            waitMax: try options["debounce-max"].map(DurationText.parse))
        try ReservedKeys.refuse(uniqueKey)
        return uniqueKey
    }

    private static func value(of field: HTTPField) throws(Problem) -> String {
        guard !field.value.hasReplacements else {
            throw Problem.invalid("The value of the header '\(Escape.text(field.name.canonicalName))' is not UTF-8.")
        }
        return field.value
    }

    private static func twice(_ name: String) -> Problem {
        Problem.invalid("The header '\(Escape.text(name))' is there twice; give it once.")
    }

    /// An attribute of a CloudEvent without the escapes that its binding to HTTP asks for; as it is when they are none.
    private static func decoded(_ value: String) -> String {
        guard let decoded = value.removingPercentEncoding, !decoded.utf8.contains(0) else { return value }
        return decoded
    }
}
