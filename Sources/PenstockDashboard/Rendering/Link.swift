import PenstockCore
import PenstockFormats

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
            value.flatMap { $0.isEmpty ? nil : "\(URLText.escape(name))=\(URLText.escape($0))" }
        }
        return given.isEmpty ? path : "\(path)?\(given.joined(separator: "&"))"
    }

    /// A name as a part of a path. Browsers take one or two dots for a way up, escaped or not, so a space is put before them: no name
    /// begins with one (`Parameters.name`).
    private static func name(_ text: String) -> String {
        text.allSatisfy { $0 == "." } ? "%20\(text)" : URLText.escape(text)
    }
}
