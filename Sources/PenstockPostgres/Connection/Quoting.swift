import Foundation

/// Names and texts in the few statements that take no parameters.
extension ServerConnection {
    /// `text` as a name in SQL.
    static func quoted(name text: String) -> String {
        "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// `text` as a text in SQL.
    static func quoted(text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
    }
}
