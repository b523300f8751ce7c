/// The name of something in a store: 1 to 200 bytes of UTF-8 with no control characters, no invisible ones but
/// joiners, and no space at either end. A new queue, schedule or workflow, and a worker, gets none either with a character that is
/// shown as nothing, as a filler is: it would look like another one. What has such a name already keeps it, and is asked for by it.
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
    public static func == (left: Self, right: Self) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
    }

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
        try NameRules.refuseUnseen(text, of: "worker")
        self.text = text
    }

    /// Takes the name of a token, by which its worker is called. It may hold a character that is shown as nothing: an operator has given it,
    /// and none of those who claim by it can give another.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name at all, as it is too long.
    package init(ofToken text: String) throws(PenstockError) {
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

    /// Throws ``PenstockError`` with code `invalidInput` when `text`, which is a name, is none for a new `thing`, as it holds a character
    /// that is shown as nothing. What a store holds already is asked for by whatever name it has.
    package static func refuseUnseen(_ text: String, of thing: String) throws(PenstockError) {
        var previous: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar.isShownAsNothing(after: previous, before: rest.first) {
                let number = String(scalar.value, radix: 16, uppercase: true)
                let zeros = String(repeating: "0", count: max(0, 4 - number.count))
                throw PenstockError(
                    .invalidInput,
                    "The name of a new \(thing) cannot hold the character U+\(zeros)\(number), which nobody sees: it would look like "
                        + "another name; leave it out.")
            }
            previous = scalar
        }
    }

    /// Whether `scalar` controls how others are shown.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        // The two joiners are part of words and of emoji.
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// Whether it is shown as nothing, or as a blank that counts as no space, so that a text with it looks like one without.
    ///
    /// - Parameters:
    ///   - previous: what is before it. A selector is a part of what it says the shape of, and is nothing behind anything else.
    ///   - next: what is behind it.
    package func isShownAsNothing(
        after previous: Unicode.Scalar?, before next: @autoclosure () -> Unicode.Scalar? = nil
    ) -> Bool {
        switch value {
        // Most of a text. Nothing in these ranges is of that kind, and to look it up takes time.
        case 0..<0xAD, 0xAE..<0x34F, 0x3165..<0xFE00: return false
        // The two joiners are part of words and of emoji.
        case 0x200C, 0x200D: return false
        // A pattern of braille without a dot.
        case 0x2800: return true
        // With colours or without. A digit has either only within a keycap, and looks the same without one.
        case 0xFE0E, 0xFE0F:
            guard let previous, previous.properties.isEmoji else { return true }
            return previous.isASCII && next() != Self.keycap
        // Shapes of ideographs, as in names of persons and places.
        case 0xFE00...0xFE02, 0xE0100...0xE01EF: return previous?.properties.isUnifiedIdeograph != true
        // Shapes of Mongolian letters.
        case 0x180B...0x180D, 0x180F: return !(0x1820...0x18AA).contains(previous?.value ?? 0)
        default: return properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether it may be a part of the character before it, as a selector or a keycap is: how one is shown hangs on the other.
    package var continuesPrevious: Bool { self == Self.keycap || properties.isVariationSelector }

    /// What makes a key of the digit and the selector before it.
    private static let keycap: Unicode.Scalar = "\u{20E3}"
}
