import PenstockCore

/// Addresses of pages. Whatever names they have in them is escaped, so that they are safe in an attribute too.
enum Link {
    static func queue(_ name: QueueName) -> String { "/queues/\(part(name.text))" }
    static func message(_ sequence: SequenceNumber) -> String { "/messages/\(sequence)" }
    static func schedule(_ name: ScheduleName) -> String { "/schedules/\(part(name.text))" }
    static func workflow(_ name: WorkflowName) -> String { "/workflows/\(part(name.text))" }

    /// `path` with those parameters that have a value.
    static func page(_ path: String, _ parameters: KeyValuePairs<String, String?>) -> String {
        page(path, parameters.map { ($0.key, $0.value) })
    }

    static func page(_ path: String, _ parameters: [(String, String?)]) -> String {
        let given = parameters.compactMap { name, value in
            value.flatMap { $0.isEmpty ? nil : "\(part(name))=\(part($0))" }
        }
        return given.isEmpty ? path : "\(path)?\(given.joined(separator: "&"))"
    }

    /// `text` as a part of a path or a query: only letters, digits and four marks stay as they are (RFC 3986, "unreserved").
    static func part(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        // A part of dots alone would be taken for a way up.
        return !escaped.isEmpty && escaped.allSatisfy { $0 == "." } ? escaped.replacing(".", with: "%2E") : escaped
    }
}
