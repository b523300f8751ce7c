import Foundation
import PenstockCore
import PenstockFormats

/// A payload as a page shows it. It is whatever somebody has enqueued, and never trusted.
enum PayloadText {
    /// A way to show bytes.
    enum Form: String, CaseIterable {
        case text, json, hex
    }

    /// Bytes of which text is shown. The whole is there as a file.
    static let textBytesMax = 64 * 1024
    /// Bytes that JSON has at most when its members have lines of their own.
    private static let indentedBytesMax = 4 * textBytesMax
    /// Bytes that are shown in hexadecimal.
    static let hexBytesMax = 4 * 1024

    /// The form that suits the bytes best.
    static func form(of bytes: [UInt8]) -> Form {
        guard bytes.count <= textBytesMax else {
            // The end may be within a character, which has four bytes at most.
            let isText = (1021...1024).contains { String(validating: bytes.prefix($0), as: UTF8.self) != nil }
            return isText ? .text : .hex
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { return .hex }
        return indented(bytes) == nil ? .text : .json
    }

    /// The bytes in that form.
    static func text(_ bytes: [UInt8], _ form: Form) -> String {
        switch form {
        case .text: plain(bytes)
        case .json: indented(bytes) ?? plain(bytes)
        case .hex: hex(bytes)
        }
    }

    private static func plain(_ bytes: [UInt8]) -> String {
        // A line at a time: the line feed alone stays what it is.
        bytes.prefix(textBytesMax).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { Escape.bytes($0) }.joined(separator: "\n")
    }

    /// JSON with a member a line; `nil` when it is no object and no array. Numbers stay as they were written.
    static func indented(_ bytes: [UInt8]) -> String? {
        guard bytes.count <= textBytesMax, let first = bytes.first(where: { $0 > 0x20 }),
            first == UInt8(ascii: "{")
                || first == UInt8(ascii: "["), (try? JSONSerialization.jsonObject(with: Data(bytes))) != nil
        else { return nil }
        var out: [UInt8] = []
        var (depth, isInText, isEscaped) = (0, false, false)
        func feed() { out += [UInt8(ascii: "\n")] + [UInt8](repeating: 0x20, count: 2 * min(depth, 40)) }
        for (index, byte) in bytes.enumerated() {
            // What is deep becomes many times as long, and nobody reads that.
            if out.count > indentedBytesMax { return nil }
            if isInText {
                out.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else {
                    isInText = byte != UInt8(ascii: "\"")
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInText = true
                out.append(byte)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                out.append(byte)
                depth += 1
                let next = bytes[(index + 1)...].first { $0 > 0x20 }
                if next != UInt8(ascii: "}") && next != UInt8(ascii: "]") { feed() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                let last = bytes[..<index].last { $0 > 0x20 }
                if last != UInt8(ascii: "{") && last != UInt8(ascii: "[") { feed() }
                out.append(byte)
            case UInt8(ascii: ","):
                out.append(byte)
                feed()
            case UInt8(ascii: ":"): out += [byte, 0x20]
            case 0x20, 0x09, 0x0A, 0x0D: break
            default: out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map { Escape.line(String($0)) }.joined(separator: "\n")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        var lines: [String] = []
        let shown = bytes.prefix(hexBytesMax)
        for start in stride(from: 0, to: shown.count, by: 16) {
            let row = shown[start..<min(start + 16, shown.count)]
            let offset = String(start, radix: 16)
            let digits = row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
            let letters = row.map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            lines.append(
                String(repeating: "0", count: max(0, 6 - offset.count)) + offset + "  "
                    + digits.padding(toLength: 47, withPad: " ", startingAt: 0) + "  " + letters)
        }
        return lines.joined(separator: "\n")
    }
}
