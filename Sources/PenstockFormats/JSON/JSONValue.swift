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

    /// A key and its value.
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

    package static func integer(_ number: Int) -> JSONValue { .integer(Int64(number)) }

    /// `value` made into JSON by `make`, or `null`.
    package static func optional<Value>(_ value: Value?, _ make: (Value) -> JSONValue) -> JSONValue {
        value.map(make) ?? .null
    }

    /// The value as text, on one line.
    package var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the value to `bytes`.
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
        // Most text is plain, and goes in as it is.
        if text.utf8.allSatisfy(isPlain) {
            bytes += text.utf8
            bytes.append(UInt8(ascii: "\""))
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case _ where Escape.isUnsafe(scalar):
                for unit in UTF16.encode(scalar) ?? .init() {
                    let digits = String(unit, radix: 16)
                    bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
                }
            default: bytes += UTF8.encode(scalar) ?? .init()
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a byte is a character that stands for itself in JSON, and harmless anywhere.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
