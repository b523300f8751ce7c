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
        // Asked of SQLite: what GRDB remembers of the schema may be from before another process's steps.
        let isThere = try Bool.fetchOne(
            database, sql: "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'penstock_migration'")
        guard isThere == true else { return 0 }
        return try Int.fetchOne(database, sql: "SELECT max(version) FROM penstock_migration") ?? 0
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

    /// Applies the steps that are missing, and waits up to `busyMax` for each while another program writes.
    ///
    /// - Returns: the names of the steps that were applied.
    /// - Throws: `newerSchema`, before anything is touched, when the file is ahead of this program.
    @discardableResult
    func migrate(_ database: Database, busyMax: Duration = .seconds(30)) throws -> [String] {
        let found = try Patience.whileLocked(upTo: busyMax) { try refuseNewer(database) }
        var applied: [String] = []
        for step in Migration.all where step.version > found {
            let isNew = try Patience.whileLocked(upTo: busyMax) { try apply(step, to: database) }
            if isNew { applied.append(step.name) }
        }
        return applied
    }

    /// Applies one step, unless another process was first: the write lock has put it before this one.
    private func apply(_ step: Migration, to database: Database) throws -> Bool {
        var isMissing = false
        try database.inTransaction(.immediate) {
            isMissing = try Self.version(of: database) < step.version
            if isMissing { try database.execute(sql: step.sql) }
            return .commit
        }
        return isMissing
    }
}
