import PenstockCore

/// Makes foreign text safe to show: what a payload, a name or an error holds can neither move a terminal's cursor nor
/// pretend to be something else.
///
/// Control characters become `\n`, `\r`, `\t` or `\xNN`; bytes that are not UTF-8 become `\xNN`; invisible
/// characters, which change how others are shown (directions, line separators) or are shown as nothing (fillers), become
/// `\u{NNNN}`; and a backslash becomes two, so that the bytes can be had back from what is shown.
package enum Escape {
    /// `text` made safe.
    package static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isUnsafe($0) }) else { return text }
        var safe = ""
        var previous: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if isUnsafe(scalar, after: previous, before: rest.first) {
                safe += escaped(scalar)
            } else {
                safe.unicodeScalars.append(scalar)
            }
            previous = scalar
        }
        return safe
    }

    /// What somebody wrote, made safe, to be repeated in an error: of a long one the beginning, so that no error is as long as what
    /// it is about.
    package static func excerpt(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: excerptCount, limitedBy: scalars.endIndex),
            end != scalars.endIndex
        else { return self.text(text) }
        return self.text(String(scalars[..<end])) + "…"
    }

    /// How many Unicode scalars of a text ``excerpt(_:)`` repeats at most.
    package static let excerptCount = 100

    /// `text` made safe, but for backslashes, which do no harm: it may say what to type, or hold what was made safe before.
    package static func line(_ text: String) -> String {
        text.split(separator: "\\", omittingEmptySubsequences: false).map { Self.text(String($0)) }
            .joined(separator: "\\")
    }

    /// `bytes` as text, made safe.
    package static func bytes(_ bytes: ArraySlice<UInt8>) -> String {
        decode(bytes, text)
    }

    /// `bytes` as text that is kept and not shown: only what is not UTF-8, and zero bytes, become `\xNN`.
    package static func kept(_ bytes: ArraySlice<UInt8>) -> String {
        decode(bytes) { run in
            var kept = ""
            for scalar in run.unicodeScalars {
                if scalar.value == 0 { kept += "\\x00" } else { kept.unicodeScalars.append(scalar) }
            }
            return kept
        }
    }

    /// - Parameter show: what becomes of a run of UTF-8.
    private static func decode(_ bytes: ArraySlice<UInt8>, _ show: (String) -> String) -> String {
        var (text, run) = ("", "")
        var iterator = bytes.makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        var position = bytes.startIndex
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                position += encoded.count
                run.unicodeScalars.append(Unicode.UTF8.decode(encoded))
            case .error(let length):
                text += show(run)
                run = ""
                for byte in bytes[position..<(position + length)] { text += hex(byte) }
                position += length
            case .emptyInput:
                return text + show(run)
            }
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default:
            scalar.isASCII ? hex(UInt8(scalar.value)) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    /// Whether `scalar` could do more than be seen, or is not seen.
    ///
    /// - Parameters:
    ///   - previous: what is before it, if that is known.
    ///   - next: what is behind it, if that is known.
    package static func isUnsafe(
        _ scalar: Unicode.Scalar, after previous: Unicode.Scalar? = nil,
        before next: @autoclosure () -> Unicode.Scalar? = nil
    ) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F || scalar == "\\" }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        // The two joiners are part of words and of emoji; they move nothing.
        case .format: return scalar != "\u{200C}" && scalar != "\u{200D}"
        default: return scalar.isShownAsNothing(after: previous, before: next())
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.count == 1 ? "\\x0\(digits)" : "\\x\(digits)"
    }
}
