import PenstockCore

/// What `--db` or PENSTOCK_DB says: the path of a file, or the address of a server or a database.
package enum StoreAddress {
    package enum Kind: Sendable {
        case file
        /// A server of Penstock's.
        case server
        /// A PostgreSQL database.
        case database
    }

    /// What is no address of Penstock's is taken for the path of a file.
    static func kind(of path: String) -> Kind {
        // Schemes are written in letters of either case.
        let start = path.prefix(11).lowercased()
        if ["http://", "https://", "unix:"].contains(where: { start.hasPrefix($0) }) { return .server }
        // What is wrong behind the colon is said by those who read it, and is no file's name.
        return ["postgres:", "postgresql:"].contains { start.hasPrefix($0) } ? .database : .file
    }

    /// Whether it is an address that leads nowhere: what has another scheme is no name of a file that anybody means.
    static func isForeign(_ path: String) -> Bool {
        guard kind(of: path) == .file, let end = path.firstRange(of: "://") else { return false }
        let scheme = path[..<end.lowerBound].utf8
        return !scheme.isEmpty && scheme.allSatisfy { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
    }

    /// Whether it looks like the host and the port of a server.
    static func looksLikePort(_ path: String) -> Bool {
        guard !path.contains("/"), let colon = path.lastIndex(of: ":"), colon > path.startIndex else { return false }
        return (Int(path[path.index(after: colon)...]).map { 1...65_535 ~= $0 }) ?? false
    }
}
