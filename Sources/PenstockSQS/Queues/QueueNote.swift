import Foundation
import PenstockCore

/// What a client has said of a queue that Penstock's own policy has no place for: attributes and tags.
struct QueueNote: Codable, Equatable, Sendable {
    var attributes: [String: String] = [:]
    var tags: [String: String] = [:]
    /// Seconds since 1970.
    var createdAt: Int64?
    var modifiedAt: Int64?

    /// The note as text.
    func text() throws(Refusal) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self), data.count <= Limits.cursorNoteBytesMax else {
            throw Refusal(
                "OverLimit",
                "The attributes and tags of a queue have at most \(Limits.cursorNoteBytesMax) bytes together.")
        }
        return String(decoding: data, as: UTF8.self)
    }

    init() {}

    /// Reads a note; what is none says nothing.
    init(_ text: String?) {
        let read = text.flatMap { try? JSONDecoder().decode(QueueNote.self, from: Data($0.utf8)) }
        self = read ?? QueueNote()
    }
}

/// A version of a queue's note.
///
/// It is the note of a cursor of the queue's log, the one place for words that belong to a queue: it goes with the queue, lies in its
/// file, and every process sees it. The highest version counts. A cursor that is there stays as it is, so of two that write the same
/// version one finds out that it was not the first.
struct NoteVersion: Sendable {
    private static let prefix = "amazon-sqs."

    var number: Int
    var note: QueueNote

    /// The cursor of version `number`.
    static func cursor(_ number: Int) -> CursorName { CursorName(stored: prefix + String(number)) }

    /// The versions among a queue's cursors.
    static func all(in cursors: [CursorRecord]) -> [NoteVersion] {
        cursors.compactMap { cursor in
            guard cursor.name.text.hasPrefix(prefix), let number = Int(cursor.name.text.dropFirst(prefix.count)),
                number > 0
            else { return nil }
            return NoteVersion(number: number, note: QueueNote(cursor.note))
        }
    }
}
