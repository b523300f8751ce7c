import Foundation

/// Names and texts in the few statements that take no parameters.
extension ServerConnection {
    static func quoted(name text: String) -> String {
        "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    static func quoted(text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
    }
}
