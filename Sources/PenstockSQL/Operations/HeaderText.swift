import Foundation
import PenstockCore

/// Headers as the log stores them: a JSON object of strings.
///
/// One header of plain characters is written and read by hand. It is what a bus puts on each event, and Foundation takes
/// longer for it than SQLite does for the row.
enum HeaderText {
    /// `headers` as JSON with its keys in order, or `nil` when there are none.
    static func encode(_ headers: [String: String]) -> String? {
        if headers.count == 1, let (name, value) = headers.first, isPlain(name), isPlain(value) {
            return "{\"\(name)\":\"\(value)\"}"
        }
        return headers.isEmpty ? nil : encodeAny(headers)
    }

    /// The headers that `text` holds. What is not an object of strings counts as none: the file may be anybody's.
    static func decode(_ text: String?) -> [String: String] {
        guard let text else { return [:] }
        return decodePlain(text) ?? decodeAny(text)
    }

    /// As Foundation writes them, whatever is in them.
    static func encodeAny(_ headers: [String: String]) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A dictionary of strings can always be written as JSON.
        return (try? encoder.encode(headers)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// As Foundation reads them, however they are written.
    static func decodeAny(_ text: String) -> [String: String] {
        (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }

    /// Whether JSON has every character of `text` as it is.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy(isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// One header as ``encode(_:)`` writes it by hand; `nil` for any other text.
    private static func decodePlain(_ text: String) -> [String: String]? {
        var rest = text.utf8[...]
        guard take("{\"", from: &rest) else { return nil }
        let name = rest.prefix(while: isPlain)
        rest = rest[name.endIndex...]
        guard take("\":\"", from: &rest) else { return nil }
        let value = rest.prefix(while: isPlain)
        rest = rest[value.endIndex...]
        guard take("\"}", from: &rest), rest.isEmpty else { return nil }
        return [String(Substring(name)): String(Substring(value))]
    }

    private static func take(_ text: StaticString, from rest: inout Substring.UTF8View) -> Bool {
        text.withUTF8Buffer { wanted in
            guard rest.starts(with: wanted) else { return false }
            rest = rest.dropFirst(wanted.count)
            return true
        }
    }
}

/// The headers of one row after the other. Neighbours mostly have the same.
struct HeaderReader {
    private var bytes: [UInt8] = []
    private var headers: [String: String] = [:]

    mutating func headers(of row: PreparedStatement, at column: Int) -> [String: String] {
        // By bytes: texts that Swift calls equal may be written differently.
        if row.text(column, isWrittenAs: bytes) { return headers }
        let text = row.text(column)
        bytes = Array((text ?? "").utf8)
        headers = HeaderText.decode(text)
        return headers
    }
}
