import Foundation
import PenstockCore
import PenstockFormats

/// What a client has said of a queue that Penstock's own policy has no place for: attributes and tags.
struct QueueNote: Equatable, Sendable {
    var attributes: [String: String] = [:]
    var tags = QueueTags()
    /// Seconds since 1970.
    var createdAt: Int64?
    var modifiedAt: Int64?
    /// When the last message is due that was sent under a longer delay than the queue has now: seconds since 1970. In a queue in order
    /// none that is sent later may be due before.
    var delayedUntil: Int64?

    /// Other servers may send under the old delay for a second, and the time is in whole ones.
    private static let delaySlack: Int64 = 3
    /// The furthest ahead that ``delayedUntil`` can be.
    static let delayMax = Duration.seconds(900 + delaySlack)

    /// Sets attributes; an empty value takes one away.
    mutating func set(_ changed: [String: String], now: Timestamp) {
        let before = delay
        for (name, value) in changed { attributes[name] = value.isEmpty ? nil : value }
        if delay < before {
            delayedUntil = max(delayedUntil ?? 0, now.microseconds / 1_000_000 + before + Self.delaySlack)
        }
    }

    private var delay: Int64 { attributes["DelaySeconds"].flatMap { Int64($0) } ?? 0 }

    func text() throws(Refusal) -> String {
        var members: [JSONValue.Member] = [.init(key: "attributes", value: .texts(attributes))]
        for (name, number) in [("createdAt", createdAt), ("delayedUntil", delayedUntil), ("modifiedAt", modifiedAt)] {
            if let number { members.append(.init(key: name, value: .integer(number))) }
        }
        members.append(.init(key: "tags", value: tags.json))
        let bytes = JSONValue.object(members).bytes
        guard bytes.count <= Limits.cursorNoteBytesMax else {
            throw Refusal(
                "OverLimit",
                "The attributes and tags of a queue have at most \(Limits.cursorNoteBytesMax) bytes together.")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    init() {}

    /// The members of a note but for its tags, which no decoder reads as they are.
    private struct Written: Decodable {
        var attributes: [String: String]
        var createdAt: Int64?
        var modifiedAt: Int64?
        var delayedUntil: Int64?
    }

    /// Reads a note; what is none says nothing, and an attribute that cannot be is not there.
    init(_ text: String?, isFifo: Bool) {
        self.init()
        guard let text, let read = try? JSONDecoder().decode(Written.self, from: Data(text.utf8)) else { return }
        (createdAt, modifiedAt, delayedUntil) = (read.createdAt, read.modifiedAt, read.delayedUntil)
        tags = QueueTags("tags", of: Array(text.utf8)) ?? QueueTags()
        attributes = read.attributes.reduce(into: [:]) { checked, attribute in
            let normalized = try? QueueAttributes.normalized([attribute.key: attribute.value], isFifo: isFifo)
            checked.merge(normalized ?? [:]) { $1 }
        }
        // Up to the end of the year 9999.
        if let until = delayedUntil, !(0...253_402_300_799).contains(until) { delayedUntil = nil }
    }
}

/// A version of a queue's note.
///
/// It is the note of a cursor of the queue's log, the one place for words that belong to a queue: it goes with the queue, lies in its
/// file, and every process sees it. The highest version counts. A cursor that is there stays as it is, so of two that write the same
/// version one finds out that it was not the first.
struct NoteVersion: Sendable {
    /// Versions are numbered up to here: the next one's number is always a number.
    private static let numberMax = 1_000_000_000_000_000

    var number: Int
    var note: QueueNote

    /// The version that comes after the one with that number.
    ///
    /// - Throws: a refusal when there is none. No queue's attributes are changed so often, so somebody has placed such a cursor.
    static func number(after last: Int) throws(Refusal) -> Int {
        guard last < numberMax else {
            throw Refusal(
                "OverLimit",
                "The cursor '\(cursor(last))' says that there can be no further change; an operator is to remove it.")
        }
        return last + 1
    }

    static func cursor(_ number: Int) -> CursorName { CursorName(stored: CursorName.settingsPrefix + String(number)) }

    /// The versions among a queue's cursors. A number that is written otherwise than ``cursor(_:)`` does it is none.
    static func all(in cursors: [CursorRecord], isFifo: Bool) -> [NoteVersion] {
        cursors.compactMap { record in
            guard record.name.isOfSettings,
                let number = Int(record.name.text.dropFirst(CursorName.settingsPrefix.count)),
                (1...numberMax).contains(number), record.name == cursor(number)
            else { return nil }
            return NoteVersion(number: number, note: QueueNote(record.note, isFifo: isFifo))
        }
    }
}
