import PenstockCore

/// A JSON value as text in UTF-8, on one line, part by part: no more of it is in memory at once than the value and a part. Where characters
/// are escaped the text is many times as long as what it says.
package struct JSONParts: IteratorProtocol {
    /// What is still to be written.
    private enum Piece {
        case value(JSONValue)
        case key(String)
        /// The rest of a text, whose quotes are pieces of their own.
        case text(Substring.UnicodeScalarView)
        case mark(Character)
    }

    /// The next one comes last.
    private var pieces: [Piece]
    private let partBytes: Int

    /// - Parameters:
    ///   - value: what is written.
    ///   - partBytes: with so many bytes a part is full. What it ends with may exceed that by as many characters and two, escaped.
    package init(of value: JSONValue, partBytes: Int) {
        pieces = [.value(value)]
        self.partBytes = partBytes
    }

    /// The next part; `nil`: that was all.
    package mutating func next() -> [UInt8]? {
        var part: [UInt8] = []
        while part.count < partBytes, let piece = pieces.popLast() {
            switch piece {
            case .value(.array(let values)):
                part += "[".utf8
                pieces.append(.mark("]"))
                for (index, value) in values.enumerated().reversed() {
                    pieces.append(.value(value))
                    if index > 0 { pieces.append(.mark(",")) }
                }
            case .value(.object(let members)):
                part += "{".utf8
                pieces.append(.mark("}"))
                for (index, member) in members.enumerated().reversed() {
                    pieces.append(.value(member.value))
                    pieces.append(.key(member.key))
                    if index > 0 { pieces.append(.mark(",")) }
                }
            case .value(.string(let text)) where text.utf8.count > partBytes:
                part += "\"".utf8
                pieces.append(.mark("\""))
                pieces.append(.text(text.unicodeScalars[...]))
            case .value(let value): value.write(to: &part)
            case .key(let key):
                JSONValue.string(key).write(to: &part)
                part += ":".utf8
            case .text(let rest):
                let end = end(of: rest)
                if end < rest.endIndex { pieces.append(.text(rest[end...])) }
                part += JSONValue.string(String(rest[..<end])).bytes.dropFirst().dropLast()
            case .mark(let mark): part += mark.utf8
            }
        }
        return part.isEmpty ? nil : part
    }

    /// Where a part of a text ends: not between a character, its selector and the keycap of both, as how one is written hangs on the others.
    private func end(of text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView.Index {
        var end = text.index(text.startIndex, offsetBy: partBytes, limitedBy: text.endIndex) ?? text.endIndex
        // However many follow, a selector behind another one is none of the character's.
        for _ in 0..<2 where end < text.endIndex && text[end].continuesPrevious { text.formIndex(after: &end) }
        return end
    }
}
