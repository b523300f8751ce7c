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
        case writes(Substring)
        /// Anything: triggers may follow, or it is no statement of a table.
        case unknown
    }

    /// The statement that `sql` is here. Finding that out takes longer than preparing it does, and each of a process's connections
    /// prepares the same: so it is found out once.
    static func statement(_ sql: String) -> Statement {
        if let known = known.withLock({ $0[sql] }) { return known }
        let text = translated(sql)
        let statement = Statement(
            sql: text, parameters: parameters(of: text), effect: effect(of: text),
            tables: Set(text.matches(of: #/\bpenstock_\w+/#).map(\.output)))
        known.withLock { known in
            // Most are constants; of those that are put together for a question there may be any number.
            if known.count >= knownMax { known = [:] }
            known[sql] = statement
        }
        return statement
    }

    private static let known = Mutex<[String: Statement]>([:])
    private static let knownMax = 2048

    /// `sql` in PostgreSQL's dialect.
    static func translated(_ sql: String) -> String {
        var text = sql
        // The planner of a server has statistics, and is not told which index to use.
        text = text.replacing(#/ NOT INDEXED\b/#, with: "")
        text = text.replacing(#/ INDEXED BY \w+/#, with: "")
        text = text.replacing(#/CROSS JOIN ((?:\w+|json_each\([^)]*\)) AS \w+)(\s+)ON/#) {
            "JOIN \($0.output.1)\($0.output.2)ON"
        }
        // A condition is true or false here, and no number.
        text = text.replacing(#/AND (marks & \d+) (AND|ORDER)/#) { "AND \($0.output.1) <> 0 \($0.output.2)" }
        if text.contains("header.type") { text = text.replacing("json_each(", with: "penstock_json_members(") }
        text = text.replacing("json_each(", with: "penstock_json_each(")
        text = text.replacing("ifnull(", with: "coalesce(")
        text = text.replacing("json_object(", with: "json_build_object(")
        text = text.replacing(#/CAST\((CAST\(\?\d+ AS TEXT\)) AS BLOB\)/#) { "penstock_bytes(\($0.output.1))" }
        text = text.replacing(#/CAST\((\?\d+) AS BLOB\)/#) { "CAST(\($0.output.1) AS BYTEA)" }
        text = text.replacing(#/CAST\(([\w.]+) AS BLOB\)/#) { "penstock_bytes(\($0.output.1))" }
        text = text.replacing(#/\bIS (?=\?\d)/#, with: "IS NOT DISTINCT FROM ")
        text = text.replacing("IS NOT (", with: "IS DISTINCT FROM (")
        return numbered(insertion(text))
    }

    /// The numbers of the parameters that a translated statement names.
    static func parameters(of sql: String) -> Set<Int> {
        Set(sql.matches(of: #/\$(\d+)/#).compactMap { Int($0.output.1) })
    }

    /// None of the operations' writes is behind a WITH.
    static func effect(of sql: String) -> Effect {
        if sql.hasPrefix("SELECT") || sql.hasPrefix("WITH") { return .none }
        guard let match = sql.prefixMatch(of: #/(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/#) else { return .unknown }
        return triggering.contains(match.output.1) ? .unknown : .writes(match.output.1)
    }

    /// Tables whose triggers write to others.
    private static let triggering: Set<Substring> = [
        "penstock_queue", "penstock_limit", "penstock_group_pause", "penstock_schedule",
    ]

    private static func numbered(_ sql: String) -> String {
        var count = 0
        return sql.replacing(#/\?(\d*)/#) { match in
            if !match.output.1.isEmpty { return "$\(match.output.1)" }
            count += 1
            return "$\(count)"
        }
    }

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
