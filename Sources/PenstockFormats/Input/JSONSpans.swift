#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where the values stand in a JSON text that a decoder has taken: what somebody has written is enqueued as it was written, with
/// all digits of its numbers.
package enum JSONSpans {
    /// The value of the object's member of that name, which has no character that is escaped; `nil` when there is none, or
    /// several.
    package static func member(_ name: String, of object: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let inside = inside(object, UInt8(ascii: "{"), UInt8(ascii: "}")) else { return nil }
        let key = [UInt8(ascii: "\"")] + Array(name.utf8) + [UInt8(ascii: "\"")]
        var found: ArraySlice<UInt8>?
        for part in parts(of: inside, at: UInt8(ascii: ",")) {
            let pair = parts(of: part, at: UInt8(ascii: ":"))
            guard pair.count == 2, pair[0].elementsEqual(key) else { continue }
            if found != nil { return nil }
            found = pair[1]
        }
        return found
    }

    /// The array's elements; `nil` when it is none.
    package static func elements(of array: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        guard let inside = inside(array, UInt8(ascii: "["), UInt8(ascii: "]")) else { return nil }
        return inside.allSatisfy(JSONGrammar.isSpace) ? [] : parts(of: inside, at: UInt8(ascii: ","))
    }

    /// The members of an object of texts, in the order in which they are written, also those whose names a dictionary would take for one;
    /// `nil` when it is none.
    package static func texts(of object: ArraySlice<UInt8>) -> [(name: String, value: String)]? {
        guard let inside = inside(object, UInt8(ascii: "{"), UInt8(ascii: "}")) else { return nil }
        if inside.allSatisfy(JSONGrammar.isSpace) { return [] }
        // A list of names and values has the same texts, and a decoder takes none of them for another.
        var list = [UInt8(ascii: "[")]
        for part in parts(of: inside, at: UInt8(ascii: ",")) {
            let pair = parts(of: part, at: UInt8(ascii: ":"))
            guard pair.count == 2 else { return nil }
            if list.count > 1 { list.append(UInt8(ascii: ",")) }
            list += pair[0]
            list.append(UInt8(ascii: ","))
            list += pair[1]
        }
        list.append(UInt8(ascii: "]"))
        guard let texts = try? JSONDecoder().decode([String].self, from: Data(list)) else { return nil }
        return stride(from: 0, to: texts.count - 1, by: 2).map { (name: texts[$0], value: texts[$0 + 1]) }
    }

    /// What stands between the brackets.
    private static func inside(_ value: ArraySlice<UInt8>, _ first: UInt8, _ last: UInt8) -> ArraySlice<UInt8>? {
        let value = trimmed(JSONGrammar.withoutMark(value))
        guard value.count >= 2, value.first == first, value.last == last else { return nil }
        return value.dropFirst().dropLast()
    }

    /// The parts between separators that stand in no text and in no inner brackets.
    private static func parts(of value: ArraySlice<UInt8>, at separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var (begin, depth, isInText, isEscaped) = (value.startIndex, 0, false, false)
        for index in value.indices {
            let byte = value[index]
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case separator where depth == 0:
                parts.append(trimmed(value[begin..<index]))
                begin = index + 1
            default: break
            }
        }
        return parts + [trimmed(value[begin...])]
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let front = value.drop(while: JSONGrammar.isSpace)
        guard let last = front.lastIndex(where: { !JSONGrammar.isSpace($0) }) else { return front }
        return front[...last]
    }
}
