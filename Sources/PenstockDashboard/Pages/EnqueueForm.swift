import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What somebody fills in to enqueue a message by hand.
enum EnqueueForm {
    static let names: Set<String> = ["payload", "headers", "priority", "delay", "key", "group", "attempts"]

    static func message(_ form: QueryParameters, now: Timestamp) throws(Problem) -> NewMessage {
        // A browser sends a text with CR and LF at the ends of its lines; whoever typed it meant LF.
        let payload = (form.text("payload") ?? "").replacing("\r\n", with: "\n")
        var message = NewMessage(payload: Array(payload.utf8))
        message.headers = try headers(form.text("headers") ?? "")
        message.priority = try form.count("priority", in: Limits.priorityRange) ?? 0
        message.attemptsMax = try form.count("attempts", in: Limits.attemptsRange)
        if let delay = try form.duration("delay", in: .zero...Limits.delayMax) { message.due = .after(delay) }
        message.uniqueKey = form.text("key").map { UniqueKey($0) }
        try ReservedKeys.refuse(message.uniqueKey)
        message.group = form.text("group")
        do { try message.validate(now: now) } catch { throw Problem(error) }
        return message
    }

    /// Whether the fields can say the payload and the headers of a message: nothing of a copy is to differ that nobody has changed.
    static func canSay(_ record: MessageRecord) -> Bool {
        guard let payload = record.payload, payload.count <= PayloadText.textBytesMax,
            let text = String(validating: payload, as: UTF8.self), PageText.shows(text),
            record.headers.values.allSatisfy(PageText.shows), let read = try? headers(lines(of: record.headers))
        else { return false }
        // Texts that look the same to people are the same to Swift, and may have other bytes.
        return read.mapValues { Array($0.utf8) } == record.headers.mapValues { Array($0.utf8) }
    }

    /// What the fields hold at first for a copy of a message, and what it will not have of that. It has a due time of its own.
    static func fields(copying record: MessageRecord) -> Fields {
        var fields: Fields = [
            "payload": String(decoding: record.payload ?? [], as: UTF8.self),
            "headers": lines(of: record.headers), "priority": "\(record.priority)",
            "attempts": "\(record.attemptsMax)",
        ]
        var lacks: [String] = record.expiresAt == nil ? [] : ["The copy does not expire."]
        if let key = record.uniqueKey {
            if record.keyScope ?? .untilEnded == .untilEnded, isOneLine(key),
                (try? ReservedKeys.refuse(UniqueKey(key))) != nil
            {
                fields["key"] = key
            } else {
                lacks.append("The copy has no unique key: the form cannot say how this message has its own.")
            }
        }
        if let group = record.group {
            if isOneLine(group) {
                fields["group"] = group
            } else {
                lacks.append("The copy is in no group: the form cannot say the group of this message.")
            }
        }
        var copied: Fields = ["sequence": "\(record.sequence)", "link": Link.message(record.sequence)]
        if !lacks.isEmpty { copied["lacks"] = lacks.joined(separator: " ") }
        fields["copied"] = copied
        return fields
    }

    private static func isOneLine(_ text: String) -> Bool { PageText.shows(text) && !text.contains("\n") }

    private static func lines(of headers: [String: String]) -> String {
        headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }

    /// Headers, one a line: `name: value`.
    private static func headers(_ text: String) throws(Problem) -> [String: String] {
        var headers: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw Problem.invalid("Write a header as 'name: value', one a line.") }
            let name = parts[0].trimmed
            guard headers.updateValue(parts[1].trimmed, forKey: name) == nil else {
                throw Problem.invalid("The header '\(Escape.text(name))' is there twice.")
            }
        }
        return headers
    }
}

extension StringProtocol {
    /// The text without spaces at its ends, as it comes when somebody types or pastes it.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
