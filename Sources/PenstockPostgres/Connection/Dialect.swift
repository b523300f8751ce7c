import PenstockCore
import Synchronization

/// How a statement of the store's operations is said to PostgreSQL. They are written once, in SQLite's dialect, with what both
/// understand; these few words are all that differs.
enum Dialect {
    /// A statement as a server is given it, and the numbers of the parameters that it names.
    struct Statement: Sendable {
        let sql: String
        let parameters: Set<Int>
        let effect: Effect
        /// The store's tables that it names.
        let tables: Set<Substring>
    }

    /// What a statement changes.
    enum Effect: Equatable {
        case none
        case writes(Set<Substring>)
        /// Anything: triggers may follow, or it is no statement of a table.
        case unknown
    }

    /// The statement that `sql` is here. Finding that out takes longer than preparing it does, and each of a process's connections
    /// prepares the same: so it is found out once.
    static func statement(_ sql: String) -> Statement {
        if let known = known.withLock({ $0[sql] }) { return known }
        let text = numbered(translated(sql))
        let statement = Statement(
            sql: text.sql, parameters: text.parameters, effect: effect(of: text.sql), tables: text.tables)
        known.withLock { known in
            // Most are constants; of those that are put together for a question there may be any number.
            if known.count >= knownMax { known = [:] }
            known[sql] = statement
        }
        return statement
    }

    private static let known = Mutex<[String: Statement]>([:])
    private static let knownMax = 2048

    /// `sql` in PostgreSQL's dialect, but for its parameters.
    ///
    /// A pattern takes longer to be made than a statement to be searched for a word, and each process searches all of its statements once.
    private static func translated(_ sql: String) -> String {
        var text = sql
        func has(_ word: StaticString) -> Bool { Self.has(text, word) }
        // The planner of a server has statistics, and is not told which index to use.
        if has("INDEXED") {
            text = text.replacing(#/ NOT INDEXED\b/#, with: "")
            text = text.replacing(#/ INDEXED BY \w+/#, with: "")
        }
        if has("CROSS JOIN") {
            text = text.replacing(#/CROSS JOIN ((?:\w+|json_each\([^)]*\)) AS \w+)(\s+)ON/#) {
                "JOIN \($0.output.1)\($0.output.2)ON"
            }
        }
        // A condition is true or false here, and no number.
        if has("AND marks & ") {
            text = text.replacing(#/AND (marks & \d+) (AND|ORDER)/#) { "AND \($0.output.1) <> 0 \($0.output.2)" }
        }
        if has("json_") {
            // Headers are looked at by their names, and lists of numbers are called `listed`.
            if has("header.type") {
                text = text.replacing(#/\bjson_each\((?!\?1\) AS listed)/#, with: "penstock_json_members(")
            }
            text = text.replacing("json_each(", with: "penstock_json_each(")
            text = text.replacing("json_object(", with: "json_build_object(")
        }
        if has("ifnull(") { text = text.replacing("ifnull(", with: "coalesce(") }
        if has("AS BLOB)") {
            text = text.replacing(#/CAST\((CAST\(\?\d+ AS TEXT\)) AS BLOB\)/#) { "penstock_bytes(\($0.output.1))" }
            text = text.replacing(#/CAST\((\?\d+) AS BLOB\)/#) { "CAST(\($0.output.1) AS BYTEA)" }
            text = text.replacing(#/CAST\(([\w.]+) AS BLOB\)/#) { "penstock_bytes(\($0.output.1))" }
        }
        if has("IS ?") { text = text.replacing(#/\bIS (?=\?\d)/#, with: "IS NOT DISTINCT FROM ") }
        if has("IS NOT (") { text = text.replacing("IS NOT (", with: "IS DISTINCT FROM (") }
        return has("INSERT OR ") ? insertion(text) : text
    }

    private static func has(_ text: String, _ word: StaticString) -> Bool {
        var text = text
        return text.withUTF8 { text in
            word.withUTF8Buffer { word in
                text.indices.contains { text[$0] == word[0] && text[$0...].starts(with: word) }
            }
        }
    }

    /// `sql` with its parameters as the server has them, by numbers behind a dollar; their numbers; and the names that begin as tables
    /// of the store do.
    static func numbered(_ sql: String) -> (sql: String, parameters: Set<Int>, tables: Set<Substring>) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sql.utf8.count)
        var parameters: Set<Int> = []
        var names: [Range<Int>] = []
        var count = 0
        var rest = Array(sql.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "?") {
                let digits = rest.prefix(while: \.isDigit)
                rest = rest.dropFirst(digits.count)
                if digits.isEmpty { count += 1 }
                let number = digits.isEmpty ? count : digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
                parameters.insert(number)
                bytes += "$\(number)".utf8
            } else if isOfWord(byte) {
                let word = rest.prefix(while: isOfWord)
                rest = rest.dropFirst(word.count)
                let start = bytes.count
                bytes.append(byte)
                bytes += word
                if bytes[start...].starts(with: "penstock_".utf8) { names.append(start..<bytes.count) }
            } else {
                bytes.append(byte)
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let tables = names.map { name in
            text[text.utf8.index(text.startIndex, offsetBy: name.lowerBound)...].prefix(name.count)
        }
        return (text, parameters, Set(tables))
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private static func effect(of sql: String) -> Effect {
        var written: Set<Substring> = []
        for begin in ["INSERT INTO ", "UPDATE ", "DELETE FROM "] where sql.contains(begin) {
            // A statement may have others in it, behind WITH.
            for part in sql.split(separator: begin, omittingEmptySubsequences: false).dropFirst() {
                written.insert(part.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
            }
        }
        if written.isEmpty { return sql.hasPrefix("SELECT") || sql.hasPrefix("WITH") ? .none : .unknown }
        return written.isDisjoint(with: triggering) ? .writes(written) : .unknown
    }

    /// Tables whose triggers write to others.
    private static let triggering: Set<Substring> = [
        "penstock_queue", "penstock_limit", "penstock_group_pause", "penstock_schedule",
    ]

    /// What becomes of a row that is in the way is said at the end of an INSERT, and not at its beginning.
    private static func insertion(_ sql: String) -> String {
        if sql.contains("INSERT OR IGNORE INTO ") {
            return sql.replacing("INSERT OR IGNORE INTO ", with: "INSERT INTO ") + " ON CONFLICT DO NOTHING"
        }
        guard let match = sql.firstMatch(of: #/INSERT OR REPLACE INTO (\w+) \(([^)]*)\)/#) else { return sql }
        let columns = match.output.2.split(separator: ",").map { $0.trimmingPrefix(#/\s*/#) }
        let key = keys[String(match.output.1)] ?? ["sequence"]
        let changes = columns.filter { !key.contains(String($0)) }.map { "\($0) = excluded.\($0)" }
        return sql.replacing("INSERT OR REPLACE INTO ", with: "INSERT INTO ")
            + " ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(changes.joined(separator: ", "))"
    }

    /// The columns by which a row is the same, of tables in which these are more, or others, than the sequence number.
    private static let keys = [
        "penstock_attempt": ["sequence", "attempt"], "penstock_cascade": ["workflow_id", "sequence"],
        "penstock_dependency": ["parent", "child"], "penstock_remote_worker": ["worker_id"],
        "penstock_worker": ["lock_name"],
    ]
}
