/// The name of something in a store: 1 to 200 bytes of UTF-8 with no control characters, no invisible ones but
/// joiners, and no space at either end.
///
/// Names are the same when their bytes are. Swift takes two ways to write an accent for one text; a store does not.
public protocol StoreName: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The name as text.
    var text: String { get }

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    init(_ text: String) throws(PenstockError)
}

extension StoreName {
    /// Whether both have the same bytes.
    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Whether `left` comes first in the order of bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

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

/// A queue's name.
public struct QueueName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "queue", bytesMax: Limits.queueNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// A cursor's name, which no other cursor of the queue's log has.
public struct CursorName: StoreName {
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
}

/// The name of a limit that queues share.
public struct LimitName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "limit", bytesMax: Limits.limitNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, or that this program chose, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// The name of a worker that is no process of the store's machine; see ``ClaimRequest/remoteWorker``.
public struct WorkerName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "worker", bytesMax: Limits.workerNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// What a name of anything in a store may look like.
package enum NameRules {
    /// Throws ``PenstockError`` with code `invalidInput` when `text` cannot be the name of a `thing`.
    package static func validate(_ text: String, of thing: String, bytesMax: Int) throws(PenstockError) {
        // Most names are plain, and are made at each call from outside.
        if (1...bytesMax).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return }
        let whose = "\("aeiou".contains(thing.prefix(1)) ? "An" : "A") \(thing)'s name"
        try require(!text.isEmpty, "\(whose) cannot be empty.")
        try require(text.utf8.count <= bytesMax, "\(whose) has at most \(bytesMax) bytes.")
        try require(
            !text.unicodeScalars.contains(where: isUnseen),
            "\(whose) cannot hold control characters, nor others that nobody sees.")
        try require(
            text.first?.isWhitespace == false && text.last?.isWhitespace == false,
            "\(whose) cannot begin or end with a space.")
    }

    /// Whether `scalar` controls how others are shown, or is shown as nothing.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        // The two joiners are part of words and of emoji.
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }
}
