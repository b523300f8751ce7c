import GRDB

/// The tables, indexes, views and triggers that the migrations make. What they must be is asked of a file in memory
/// that the same migrations have made.
struct SchemaParts {
    /// What a part is. In this order they can be made: a trigger needs its view.
    enum Kind: String, CaseIterable {
        case table, index, view, trigger
    }

    /// One part, and what is wrong with it.
    struct Fault: Equatable {
        enum Wrong: Equatable {
            /// It is not there.
            case missing
            /// It is there, with another definition.
            case changed
            /// A table that lacks these columns, or has them otherwise.
            case columns([String])
            /// Something of another kind has its name.
            case inTheWay(String)
        }

        var kind: Kind
        var name: String
        var wrong: Wrong

        /// Whether it can be made anew: it holds no rows, and nothing is in its way.
        var isMendable: Bool { kind != .table && (wrong == .missing || wrong == .changed) }
    }

    private struct Part: Equatable {
        var kind: Kind
        var name: String
        var table: String
        var sql: String
    }

    private let wanted: [Part]
    private let columns: [String: [Row]]

    /// The parts of the newest schema.
    init() throws {
        (wanted, columns) = try DatabaseQueue().writeWithoutTransaction { database in
            try SchemaMigrator(path: ":memory:").migrate(database)
            let parts = try Self.parts(of: database)
            let tables = parts.filter { $0.kind == .table }
            return (
                parts,
                try Dictionary(uniqueKeysWithValues: tables.map { ($0.name, try Self.columns(of: $0.name, database)) })
            )
        }
    }

    /// What is not in `database` as it must be. Of a table that is missing, its indexes and triggers are not named.
    func faults(in database: Database) throws -> [Fault] {
        let found = try Self.parts(of: database)
        let lost = Set(
            wanted.filter { part in part.kind == .table && !found.contains { Self.isSame($0, part) } }.map(\.name))
        return try wanted.compactMap { part in
            if part.kind != .table, part.kind != .view, lost.contains(part.table) { return nil }
            return try wrong(with: part, among: found, database).map {
                Fault(kind: part.kind, name: part.name, wrong: $0)
            }
        }
    }

    /// Makes the parts of one kind anew that can be, within a transaction of the caller.
    ///
    /// - Returns: what they are called.
    func mend(_ kind: Kind, in database: Database) throws -> [String] {
        let faults = try faults(in: database).filter { $0.kind == kind && $0.isMendable }
        for fault in faults {
            if fault.wrong == .changed { try database.execute(sql: "DROP \(kind.rawValue) \(fault.name)") }
            for part in wanted where part.kind == kind && part.name == fault.name {
                try database.execute(sql: part.sql)
            }
        }
        return faults.map(\.name)
    }

    private func wrong(with part: Part, among found: [Part], _ database: Database) throws -> Fault.Wrong? {
        guard let same = found.first(where: { Self.isSame($0, part) }) else {
            // A trigger may be called as a table is.
            let other = found.first { $0.name == part.name && $0.kind != .trigger && part.kind != .trigger }
            return other.map { .inTheWay($0.kind.rawValue) } ?? .missing
        }
        guard part.kind == .table else { return same.sql == part.sql && same.table == part.table ? nil : .changed }
        // A table's own text changes with the steps that alter it.
        let there = try Self.columns(of: part.name, database)
        let lacking = columns[part.name, default: []].filter { !there.contains($0) }
        return lacking.isEmpty ? nil : .columns(lacking.map { $0["name"] })
    }

    private static func isSame(_ found: Part, _ part: Part) -> Bool {
        found.kind == part.kind && found.name == part.name
    }

    /// What GRDB remembers of the schema may be from before another program's change, and so SQLite is asked.
    private static func parts(of database: Database) throws -> [Part] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_schema
                WHERE name GLOB 'penstock_*' AND sql IS NOT NULL ORDER BY rowid
                """)
        let parts = rows.compactMap { row in
            Kind(rawValue: row["type"]).map {
                Part(kind: $0, name: row["name"], table: row["tbl_name"], sql: row["sql"])
            }
        }
        return Kind.allCases.flatMap { kind in parts.filter { $0.kind == kind } }
    }

    private static func columns(of table: String, _ database: Database) throws -> [Row] {
        try Row.fetchAll(
            database, sql: "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo(?)",
            arguments: [table])
    }
}
