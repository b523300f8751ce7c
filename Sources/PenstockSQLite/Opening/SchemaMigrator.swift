import GRDB
import PenstockCore
import PenstockMigrations

/// Brings a database to the schema this program knows, one transaction for each step.
///
/// A crash between steps leaves a file with the earlier steps whole; the next open goes on from there. Two processes
/// that open a new file at once are put in order by SQLite's write lock: the second finds the steps done.
struct SchemaMigrator {
    let path: String

    /// The version of the schema in `database`: 0 when there is none of Penstock's tables.
    static func version(of database: Database) throws -> Int {
        // Asked of the schema itself: GRDB remembers an answer that another process may have made untrue since.
        let exists = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'penstock_migration')")
        guard exists == true else { return 0 }
        return try Int.fetchOne(database, sql: "SELECT max(version) FROM penstock_migration") ?? 0
    }

    /// The newest version this program knows.
    static var newest: Int { Migration.all.count }

    /// Applies the steps that are missing.
    ///
    /// - Returns: the names of the steps that were applied.
    /// - Throws: `newerSchema`, before anything is touched, when the file is ahead of this program.
    func migrate(_ database: Database) throws -> [String] {
        let found = try Self.version(of: database)
        guard found <= Self.newest else {
            throw PenstockError(
                .newerSchema,
                "\(path) has schema version \(found), and this program knows up to \(Self.newest); use a newer penstock."
            )
        }
        var applied: [String] = []
        for step in Migration.all where step.version > found {
            try database.inTransaction(.immediate) {
                // Another process may have been first; the write lock has put it before this one.
                if try Self.version(of: database) < step.version {
                    try database.execute(sql: step.sql)
                    applied.append(step.name)
                }
                return .commit
            }
        }
        return applied
    }
}
