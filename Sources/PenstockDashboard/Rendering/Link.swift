import PenstockCore

/// Addresses of pages. Whatever names they have in them is escaped, so that they are safe in an attribute too.
enum Link {
    static func queue(_ queue: QueueName) -> String { "/queues/\(name(queue.text))" }
    static func message(_ sequence: SequenceNumber) -> String { "/messages/\(sequence)" }
    static func schedule(_ schedule: ScheduleName) -> String { "/schedules/\(name(schedule.text))" }
    static func workflow(_ workflow: WorkflowName) -> String { "/workflows/\(name(workflow.text))" }

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
            if byte.isLetterOrDigit || "-_.~".utf8.contains(byte) {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }

    /// A name as a part of a path. Browsers take one or two dots for a way up, escaped or not, so a space is put before them: no name
    /// begins with one (`Parameters.name`).
    private static func name(_ text: String) -> String {
        text.allSatisfy { $0 == "." } ? "%20\(text)" : part(text)
    }
}
