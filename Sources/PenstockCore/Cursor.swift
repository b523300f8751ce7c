/// The name of a place in a queue's log: 1 to 200 bytes of UTF-8, as a queue's name.
public struct CursorName: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "cursor", bytesMax: Limits.cursorNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, or that this program chose, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }

    /// Whether `left` comes first in the order of text.
    public static func < (left: CursorName, right: CursorName) -> Bool { left.text < right.text }

    /// The name as text.
    public var description: String { text }

    /// Reads a name; throws ``PenstockError`` with code `invalidInput` when the text is none.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name as a text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A named place in a queue's log, which outlives the process that reads on from it.
public struct CursorRecord: Hashable, Sendable {
    /// The queue whose log it is in.
    public var queue: QueueName
    /// Its name, which no other cursor of that queue has.
    public var name: CursorName
    /// Everything up to here is behind it. There need not be a message with that number.
    public var sequence: SequenceNumber
    /// How many messages it went past without anybody having had them: retention forgot them while they were still
    /// ahead of it, or the reader gave them up.
    public var missed: Int
    /// What was said when it was placed.
    public var note: String?
    /// When it was placed or moved last.
    public var movedAt: Timestamp

    /// Makes a record.
    public init(
        queue: QueueName, name: CursorName, sequence: SequenceNumber, missed: Int = 0, note: String? = nil,
        movedAt: Timestamp
    ) {
        self.queue = queue
        self.name = name
        self.sequence = sequence
        self.missed = missed
        self.note = note
        self.movedAt = movedAt
    }
}

/// What to do with a cursor.
public enum CursorMove: Hashable, Sendable {
    /// Places it after that message, or after everything that is in the log now when it is `nil`. One that is there
    /// already stays as it is. Survives a power cut, and rings for the queue.
    case place(after: SequenceNumber?, note: String? = nil)
    /// Moves it forward to that message, and adds to what it missed. It never goes back: when it is further on
    /// already, only the number that it missed changes. May be lost with power, but not with a process.
    case advance(to: SequenceNumber, missed: Int = 0)
    /// Removes it. One that is not there is no error.
    case remove
}

/// What a name of anything in a store may look like.
enum NameRules {
    /// Throws ``PenstockError`` with code `invalidInput` when `text` cannot be the name of a `thing`.
    static func validate(_ text: String, of thing: String, bytesMax: Int) throws(PenstockError) {
        guard !text.isEmpty else {
            throw PenstockError(.invalidInput, "A \(thing)'s name cannot be empty.")
        }
        guard text.utf8.count <= bytesMax else {
            throw PenstockError(.invalidInput, "A \(thing)'s name has at most \(bytesMax) bytes.")
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw PenstockError(.invalidInput, "A \(thing)'s name cannot hold control characters.")
        }
        guard text.first?.isWhitespace == false, text.last?.isWhitespace == false else {
            throw PenstockError(.invalidInput, "A \(thing)'s name cannot begin or end with a space.")
        }
    }
}
