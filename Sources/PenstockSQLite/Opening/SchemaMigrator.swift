import GRDB
import PenstockCore
import PenstockMigrations

/// Brings a database to the schema this program knows, one transaction for each step; a new one in one transaction, by what all
/// steps together leave, so that a program that looks meanwhile finds the whole schema or none.
///
/// A crash between steps leaves a file with the earlier steps whole; the next open goes on from there. Two processes
/// that open a new file at once are put in order by SQLite's write lock: the second finds the steps done.
struct SchemaMigrator {
    let path: String

    /// The version of the schema in `database`: 0 when there is none of Penstock's tables.
    static func version(of database: Database) throws -> Int {
        // Asked of SQLite: what GRDB remembers of the schema may be from before another process's steps. In one statement,
        // as that process may commit between two. The first step makes these tables together.
        let isWhole = try Bool.fetchOne(
            database,
            sql: """
                SELECT max(name = 'penstock_migration') FROM main.sqlite_schema
                WHERE type = 'table' AND name IN ('penstock_migration', 'penstock_queue', 'penstock_state', 'penstock_log')
                """)
        guard let isWhole else { return 0 }
        if !isWhole {
            throw PenstockError(
                .corrupt,
                "The file has lost a part of its schema (the table penstock_migration); restore it from a copy.")
        }
        guard let version = try Int.fetchOne(database, sql: "SELECT max(version) FROM penstock_migration") else {
            // A migration writes its row in the transaction that makes the table.
            throw PenstockError(
                .corrupt,
                "The file does not say which schema it has (penstock_migration has no rows); restore it from a copy.")
        }
        // The steps come one after the other: a row that somebody has deleted leaves a gap, or what a step has made that the file
        // does not name. In one statement, too, as another process may take that step meanwhile.
        let isTrue = try Bool.fetchOne(
            database,
            sql: """
                SELECT count(*) = max(version) AND min(version) = 1 AND (max(version) > ? OR NOT EXISTS (
                    SELECT 1 FROM main.sqlite_schema
                    WHERE type || ' ' || name IN (\(parts(after: version).joined(separator: ", ")))
                )) FROM penstock_migration
                """, arguments: [version])
        guard version > newest || isTrue == true else {
            throw PenstockError(
                .corrupt,
                "The file does not say truly which schema it has (penstock_migration has lost rows); restore it from a "
                    + "copy.")
        }
        return version
    }

    /// The tables, indexes, views and triggers, as SQL, that only later steps make. One that a step makes anew was there before it.
    private static func parts(after version: Int) -> [String] {
        // Every process that opens a file asks, and to find them takes longer than all else that it does then.
        if version >= newest { return [] }
        let earlier = Set(Migration.all.filter { $0.version <= version }.flatMap(\.parts))
        return Migration.all.filter { $0.version > version }.flatMap(\.parts)
            .filter { !earlier.contains($0) }.map { "'\($0)'" }
    }

    /// The newest version this program knows.
    static var newest: Int { Migration.all.count }

    /// Gives the version of the schema in `database`.
    ///
    /// - Throws: `newerSchema` when it is ahead of this program.
    func refuseNewer(_ database: Database) throws -> Int {
        let found = try Self.version(of: database)
        guard found <= Self.newest else {
            throw PenstockError(
                .newerSchema,
                "\(path) has schema version \(found), and this program knows up to \(Self.newest); use a newer penstock."
            )
        }
        return found
    }

    /// The oldest version whose tables hold all that reading asks for. A step that adds what reading asks for raises it.
    static let oldestReadable = 28

    /// Throws when `database` has not the tables that reading asks for.
    ///
    /// - Throws: `newerSchema`, `olderSchema`; `notADatabase` when it is another program's, `notFound` when it is empty.
    func refuseUnreadable(_ database: Database) throws {
        let found = try refuseNewer(database)
        if found == 0 {
            try OtherPrograms.refuseTables(in: database, path)
            // Another process may be making it. Until it has, there is no more here than before it began.
            throw lackOfTables
        }
        guard found >= Self.oldestReadable else {
            throw PenstockError(
                .olderSchema,
                "\(path) has schema version \(found), and this program reads from version \(Self.oldestReadable) on; run "
                    + "`penstock migrate` to bring it up to date.")
        }
    }

    /// What is wrong with a file without any tables, for those who do not make them.
    var lackOfTables: PenstockError {
        PenstockError(.notFound, "\(path) has none of Penstock's tables yet; `penstock queue create` makes them.")
    }

    /// Throws `olderSchema` when `database` has Penstock's tables, and they are of an older version.
    func refuseOlder(_ database: Database) throws {
        let found = try refuseNewer(database)
        guard found == 0 || found == Self.newest else {
            throw PenstockError(
                .olderSchema,
                "\(path) has schema version \(found), and this program has version \(Self.newest); run `penstock "
                    + "migrate` to bring it up to date.")
        }
    }

    /// Applies the steps that are missing, and waits up to `busyMax` for each while another program writes.
    ///
    /// - Returns: the names of the steps that were applied.
    /// - Throws: `newerSchema`, before anything is touched, when the file is ahead of this program.
    @discardableResult
    func migrate(_ database: Database, busyMax: Duration = .seconds(30)) throws -> [String] {
        let found = try Patience.whileLocked(upTo: busyMax) { try refuseNewer(database) }
        let missing = Migration.all.filter { $0.version > found }
        return try (found == 0 ? [missing] : missing.map { [$0] }).flatMap { steps in
            try Patience.whileLocked(upTo: busyMax) { try apply(steps, to: database) }
        }
    }

    /// Applies steps together, but for those at which another process was first: the write lock has put it before this one.
    ///
    /// - Returns: the names of those that were applied.
    private func apply(_ steps: [Migration], to database: Database) throws -> [String] {
        var applied: [Migration] = []
        try database.inTransaction(.immediate) {
            let found = try Self.version(of: database)
            applied = steps.filter { $0.version > found }
            if found == 0 {
                try database.execute(sql: Migration.baseline)
            } else {
                for step in applied { try database.execute(sql: step.sql) }
            }
            return .commit
        }
        return applied.map(\.name)
    }
}

/// Tables that are not Penstock's, in a file that Penstock has not used yet.
///
/// Penstock's tables come beside another program's only through that program's own pool, or by hand, and never because a
/// path was mistyped. A program that accompanies others, to replicate or back up their files, is no such program: it
/// begins its tables with an underscore so that they are nobody else's (Litestream's `_litestream_seq`), and it is there
/// before Penstock when it made or restored the file.
enum OtherPrograms {
    /// Throws `notADatabase` when a table of `database` belongs to another program.
    static func refuseTables(in database: Database, _ path: String) throws {
        let other = try String.fetchOne(
            database,
            sql: """
                SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_*' LIMIT 1
                """)
        if let other {
            throw PenstockError(
                .notADatabase,
                "\(path) belongs to another program (it has a table '\(other)'); open it through that program's own "
                    + "pool, or give Penstock a file of its own.")
        }
    }
}
