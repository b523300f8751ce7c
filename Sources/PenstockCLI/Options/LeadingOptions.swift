/// Lets the options that every command knows stand before the command's name as well: `penstock --db mail.db status`.
///
/// The parser wants options after the command that they belong to. So those at the front are moved behind the rest, but
/// before two dashes, after which everything is somebody else's. A store that the command names itself counts, as the last one does.
enum LeadingOptions {
    /// `arguments`, without the program's name, in the order that the parser wants.
    static func moved(_ arguments: [String]) -> [String] {
        var (flags, store): ([String], [String]) = ([], [])
        var rest = arguments[...]
        while let first = rest.first {
            if first == "--json" {
                flags.append(rest.removeFirst())
            } else if first.hasPrefix("--db=") {
                store = [rest.removeFirst()]
            } else if first == "--db", rest.count > 1 {
                store = Array(rest.prefix(2))
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        // Alone they belong to no command, and the parser says so better.
        guard rest.count < arguments.count, !rest.isEmpty else { return arguments }
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        if FileOptions.value(of: "--db", in: Array(rest[..<end])) != nil { store = [] }
        return Array(rest[..<end]) + flags + store + Array(rest[end...])
    }
}
