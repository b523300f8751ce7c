import PenstockCore

/// What is JSON and what is not (RFC 8259). Decoders take more than that, and what somebody has written is enqueued as it was written, for
/// consumers who may take less.
struct JSONGrammar {
    /// Objects and arrays within each other, as many as the decoder takes.
    private static let depthMax = 512

    /// Values in one text. A decoder takes 50 to 200 bytes of memory for each, however small it is: a text of 32 MiB may have 16 million.
    static let valueCountMax = 1_000_000

    static let hasTooManyValues = PenstockError(
        .invalidInput,
        "It has more than \(valueCountMax) values; a large payload goes in as text, in base64, or as a body of its own."
    )

    /// Some programs begin what they write with this mark of UTF-8.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// A JSON text without the mark that it may begin with.
    static func withoutMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes
    }

    private let bytes: ArraySlice<UInt8>
    private var place: Int
    private var open: [UInt8] = []
    /// Values that may still follow.
    private var valuesLeft: Int
    /// Names of the outermost object's members, as they are written.
    private var names: Set<ArraySlice<UInt8>> = []

    /// What may come next.
    private enum Next {
        case value, valueOrEnd, name, nameOrEnd, commaOrEnd
    }

    private init(_ bytes: ArraySlice<UInt8>, valueCountMax: Int) {
        self.bytes = bytes
        valuesLeft = valueCountMax
        place = Self.withoutMark(bytes).startIndex
    }

    /// Looks at a JSON text.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when `bytes` are none; when a text in it is none in Unicode; when its
    ///   outermost object has a member twice, of which a decoder would take one; and when it has more than `valueCountMax` values.
    static func check(
        _ bytes: ArraySlice<UInt8>, valueCountMax: Int = Self.valueCountMax
    ) throws(PenstockError) {
        try require(String(validating: bytes, as: UTF8.self) != nil, "It is not UTF-8.")
        var grammar = JSONGrammar(bytes, valueCountMax: valueCountMax)
        try require(try grammar.takeAll(), "It is no JSON.")
    }

    /// Whether all of it is one JSON value.
    private mutating func takeAll() throws(PenstockError) -> Bool {
        var next = Next.value
        while true {
            skipSpaces()
            guard let byte = peek else { return next == .commaOrEnd && open.isEmpty }
            switch (next, byte) {
            case (.name, UInt8(ascii: "\"")), (.nameOrEnd, UInt8(ascii: "\"")):
                guard try takeName() else { return false }
                next = .value
            case (.commaOrEnd, UInt8(ascii: ",")) where !open.isEmpty:
                place += 1
                next = open.last == UInt8(ascii: "{") ? .name : .value
            case (.valueOrEnd, UInt8(ascii: "]")), (.nameOrEnd, _), (.commaOrEnd, _):
                // The brackets of ASCII that belong together are two apart.
                guard let last = open.popLast(), byte == last + 2 else { return false }
                place += 1
                next = .commaOrEnd
            case (.value, _), (.valueOrEnd, _):
                guard try takeBeginning(byte) else { return false }
                next =
                    switch byte {
                    case UInt8(ascii: "{"): .nameOrEnd
                    case UInt8(ascii: "["): .valueOrEnd
                    default: .commaOrEnd
                    }
            case (.name, _): return false
            }
        }
    }

    private var peek: UInt8? { place < bytes.endIndex ? bytes[place] : nil }

    /// Whether it may stand between the parts of a text.
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private mutating func skipSpaces() {
        while let byte = peek, Self.isSpace(byte) { place += 1 }
    }

    /// Takes a value, or the bracket that it begins with.
    private mutating func takeBeginning(_ byte: UInt8) throws(PenstockError) -> Bool {
        guard valuesLeft > 0 else { throw Self.hasTooManyValues }
        valuesLeft -= 1
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < Self.depthMax else { return false }
            open.append(byte)
            place += 1
            return true
        case UInt8(ascii: "\""): return try takeText()
        case UInt8(ascii: "t"): return take("true")
        case UInt8(ascii: "f"): return take("false")
        case UInt8(ascii: "n"): return take("null")
        default: return takeNumber()
        }
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let isThere = word.withUTF8Buffer { bytes[place...].starts(with: $0) }
        if isThere { place += word.utf8CodeUnitCount }
        return isThere
    }

    private mutating func takeNumber() -> Bool {
        _ = take("-")
        if !take("0"), takeDigits() == 0 { return false }
        if take("."), takeDigits() == 0 { return false }
        guard take("e") || take("E") else { return true }
        if !take("+") { _ = take("-") }
        return takeDigits() > 0
    }

    private mutating func takeDigits() -> Int {
        let begin = place
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        return place - begin
    }

    /// Takes the name of a member, and the colon behind it.
    private mutating func takeName() throws(PenstockError) -> Bool {
        let begin = place
        guard try takeText() else { return false }
        if open.count == 1, !names.insert(bytes[begin..<place]).inserted {
            let name = String(decoding: bytes[begin..<place].dropFirst().dropLast(), as: UTF8.self)
            throw PenstockError(.invalidInput, "It has a \"\(Escape.excerpt(name))\" twice; leave one of them out.")
        }
        skipSpaces()
        return take(":")
    }

    private mutating func takeText() throws(PenstockError) -> Bool {
        place += 1
        while let byte = peek {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard try takeEscaped() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    /// Takes what follows a backslash.
    private mutating func takeEscaped() throws(PenstockError) -> Bool {
        guard let byte = peek else { return false }
        place += 1
        if byte != UInt8(ascii: "u") { return "\"\\/bfnrt".utf8.contains(byte) }
        guard let unit = takeUnit() else { return false }
        guard UTF16.isSurrogate(unit) else { return true }
        guard UTF16.isLeadSurrogate(unit), take("\\u"), let second = takeUnit(), UTF16.isTrailSurrogate(second) else {
            throw PenstockError(
                .invalidInput, "It has half a character, \\u\(String(unit, radix: 16)), which is no text in Unicode.")
        }
        return true
    }

    private mutating func takeUnit() -> UInt16? {
        let digits = bytes[place...].prefix(4)
        place += digits.count
        // A sign is a part of a number for Swift.
        guard digits.count == 4, digits.allSatisfy({ $0 >= UInt8(ascii: "0") }) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
