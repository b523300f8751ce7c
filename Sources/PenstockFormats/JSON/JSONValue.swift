import PenstockCore

/// A JSON value that keeps its keys in the order in which they were written.
package enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Seconds, in whole microseconds, written as a decimal number.
    case seconds(Duration)
    case decimal(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Equatable {
        package var key: String
        package var value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// An object with `members` in that order.
    package static func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { Member(key: $0.key, value: $0.value) })
    }

    /// An object with `members` behind its own; any other value as it is.
    package func adding(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        adding(members.map { Member(key: $0.key, value: $0.value) })
    }

    func adding(_ members: [Member]) -> JSONValue {
        if case .object(let own) = self { .object(own + members) } else { self }
    }

    package static func integer(_ number: Int) -> JSONValue { .integer(Int64(number)) }

    /// `value` made into JSON by `make`, or `null`.
    package static func optional<Value>(_ value: Value?, _ make: (Value) -> JSONValue) -> JSONValue {
        value.map(make) ?? .null
    }

    /// The value as text, on one line.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value as text in UTF-8, on one line.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    package func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .seconds(let duration): bytes += Self.seconds(duration).utf8
        // JSON has no word for what is not finite.
        case .decimal(let number): bytes += (number.isFinite ? String(number) : "null").utf8
        case .string(let text): Self.write(text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let microseconds = duration.wholeMicroseconds
        let (whole, part) = microseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        let text = (microseconds < 0 ? "-" : "") + String(whole)
        guard part > 0 else { return text }
        var digits = String(part)
        digits = String(repeating: "0", count: 6 - digits.count) + digits
        while digits.last == "0" { digits.removeLast() }
        return "\(text).\(digits)"
    }

    /// Quotes as RFC 8259 asks, and escapes every character that ``Escape`` finds unsafe too, so that a line of output
    /// is a line for every program, and harmless on every terminal.
    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            // Most of a text is as it is: it is copied in runs.
            var (begin, index) = (0, 0)
            var previous: Unicode.Scalar?
            while index < utf8.count {
                let byte = utf8[index]
                if isPlain(byte) {
                    previous = Unicode.Scalar(byte)
                    index += 1
                    continue
                }
                let scalar = scalar(at: index, of: utf8)
                let end = index + UTF8.width(scalar)
                let isUnsafe = Escape.isUnsafe(
                    scalar, after: previous, before: end < utf8.count ? Self.scalar(at: end, of: utf8) : nil)
                if scalar == "\"" || isUnsafe {
                    bytes.append(contentsOf: utf8[begin..<index])
                    escape(scalar, to: &bytes)
                    begin = end
                }
                previous = scalar
                index = end
            }
            bytes.append(contentsOf: utf8[begin...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// The character that begins at `index` of a text, which is UTF-8 as all texts are.
    private static func scalar(at index: Int, of utf8: UnsafeBufferPointer<UInt8>) -> Unicode.Scalar {
        if utf8[index] < 0x80 { return Unicode.Scalar(utf8[index]) }
        var iterator = utf8[index...].makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        guard case .valid(let encoded) = parser.parseScalar(from: &iterator) else { return "\u{FFFD}" }
        return Unicode.UTF8.decode(encoded)
    }

    private static func escape(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        switch scalar {
        case "\"": bytes += "\\\"".utf8
        case "\\": bytes += "\\\\".utf8
        case "\n": bytes += "\\n".utf8
        case "\r": bytes += "\\r".utf8
        case "\t": bytes += "\\t".utf8
        default:
            // Digit by digit: a payload may be 16 MiB of these, and a text for each would take seconds.
            for unit in UTF16.encode(scalar) ?? .init() {
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(ascii: "u"))
                bytes.append(digit(unit >> 12))
                bytes.append(digit(unit >> 8 & 0xF))
                bytes.append(digit(unit >> 4 & 0xF))
                bytes.append(digit(unit & 0xF))
            }
        }
    }

    private static func digit(_ value: UInt16) -> UInt8 {
        UInt8(truncatingIfNeeded: value) + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}
