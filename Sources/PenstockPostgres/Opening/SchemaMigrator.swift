import Foundation
import PenstockCore
import PenstockPostgresMigrations

/// Brings a schema to the tables that this program knows, in one transaction: a program
/// that looks meanwhile finds the old ones or the new.
struct SchemaMigrator {
    let address: ServerAddress
    let server: ServerConnection
    private let busyMax: Duration

    /// Connects.
    ///
    /// - Parameter busyMax: how long it waits for what others hold.
    /// - Throws: `invalidInput` when the server is older than what is used of it.
    init(_ address: ServerAddress, busyMax: Duration) throws {
        self.address = address
        self.busyMax = busyMax
        server = try Sessions.connect(to: address, busyMax: busyMax)
    }

    var functions: SchemaFunctions { SchemaFunctions(address: address, server: server) }

    static var newest: Int { PostgresMigration.all.last?.version ?? 0 }

    /// The version of the schema: 0 when there is none of Penstock's tables.
    ///
    /// - Throws: `corrupt` when there are, and they do not say; `invalidInput` when the server runs no triggers for this role.
    func version() throws -> Int {
        // Looked up as rows: to_regclass goes by what the session remembers, which within a transaction may be that there was no such
        // table before another process made it.
        let known = try server.run(
            """
            SELECT current_setting('session_replication_role'), EXISTS (
                SELECT 1 FROM pg_class AS tables JOIN pg_namespace AS schemas ON schemas.oid = tables.relnamespace
                WHERE schemas.nspname = \(schemaText) AND tables.relname = 'penstock_migration')
            """)
        // What is written through the views would be nowhere, without a word.
        try require(
            known.text(0, 0) != "replica" || !address.mustBeWritable,
            "\(address.description) runs no triggers for this role, as session_replication_role is 'replica'; set it to 'origin' for "
                + "the role and the database.")
        guard known.text(0, 1) == "t" else { return 0 }
        // With its schema: the server tells a role without a right to that so, and not that there is no such table.
        let table = ServerConnection.quoted(name: address.schema) + ".penstock_migration"
        let newest = try server.run("SELECT max(version) FROM \(table)")
        guard !newest.isNull(0, 0) else {
            throw PenstockError(
                .corrupt,
                "\(address.description) has lost the rows of penstock_migration, which say what its tables are; restore it from a copy."
            )
        }
        return Int(newest.text(0, 0)) ?? 0
    }

    /// The oldest version whose tables hold all that reading asks for. A step that adds what reading asks for raises it.
    static let oldestReadable = 17

    /// Throws when there are not the tables that reading asks for.
    ///
    /// - Throws: `newerSchema`, `olderSchema` when it is too old or was renamed, `notFound` when there are no tables, `notADatabase` when there
    ///   are another program's.
    func refuseUnreadable() throws { try refuseUnready(from: Self.oldestReadable, mayMake: false, mayChange: false) }

    /// Makes the tables, or brings them up to date, where that is wanted.
    ///
    /// - Throws: as ``refuseUnreadable()``; `olderSchema` when steps are missing that may not be applied.
    func prepare(createIfMissing: Bool, migration: MigrationPolicy) throws {
        let mayChange = migration == .automatic
        if try !refuseUnready(mayMake: createIfMissing, mayChange: mayChange) { try migrate() }
    }

    /// - Returns: whether nothing is missing.
    @discardableResult
    private func refuseUnready(from oldest: Int = newest, mayMake: Bool, mayChange: Bool) throws -> Bool {
        let found = try refuseNewer()
        if found == 0, !mayMake {
            try refuseOtherPrograms()
            throw PenstockError(
                .notFound,
                "\(address.description) has none of Penstock's tables in its schema \(address.schema); `penstock queue create` makes them."
            )
        }
        if found > 0, found < oldest, !mayChange {
            throw PenstockError(
                .olderSchema,
                "\(address.description) has schema version \(found), and this program \(oldest < Self.newest ? "reads" : "works") from "
                    + "version \(oldest) on; run `penstock migrate` to bring it up to date.")
        }
        if found > 0 { try functions.refuseOtherName() }
        return found == Self.newest
    }

    private func refuseNewer() throws -> Int {
        let found = try version()
        guard found <= Self.newest else {
            throw PenstockError(
                .newerSchema,
                "\(address.description) has schema version \(found), and this program knows up to \(Self.newest); use a newer "
                    + "penstock.")
        }
        return found
    }

    /// Applies the steps that are missing, and has functions of a schema that was renamed go by its name.
    ///
    /// - Parameters:
    ///   - version: the last of them. For tests of older schemas.
    ///   - pause: lets others write between two tries.
    /// - Returns: the names of the steps that were applied.
    @discardableResult
    func migrate(to version: Int = newest, pause: () -> Void = { usleep(900_000) }) throws -> [String] {
        let before = try refuseNewer()
        if before == Self.newest, try !functions.lookElsewhere { return [] }
        let deadline = ContinuousClock.now + busyMax
        while true {
            do {
                return try migrate(from: before, to: version)
            } catch let error as ServerError where error.isOfAnotherTransaction && .now < deadline {
                pause()
            }
        }
    }

    private func migrate(from before: Int, to version: Int) throws -> [String] {
        try server.run("BEGIN")
        do {
            // Of two processes that come at once the second finds the steps done.
            try server.run("SELECT pg_advisory_xact_lock(hashtextextended('penstock:' || \(schemaText), 0))")
            let found = try refuseNewer()
            if found == 0 {
                try makeSchema()
            } else {
                // The lock would be another store's.
                try functions.mend()
                // Tables are changed below: a writer that has the lock may want one, and this its lock.
                try server.run("SELECT \(ServerConnection.quoted(name: address.schema)).penstock_write_lock()")
                // Any transaction that has looked at a table or a view, and is open, may be in the way for as long as it likes. All
                // writers wait for this one from here on. An autovacuum that is in the way is ended by the server, once somebody has waited for
                // as long as it takes to look for a deadlock.
                try server.run(
                    """
                    SELECT set_config('lock_timeout', (
                        SELECT (least(setting::int, 4000) + 1000)::text FROM pg_settings WHERE name = 'deadlock_timeout'), true)
                    """)
            }
            let missing = PostgresMigration.all.filter { $0.version > found && $0.version <= version }
            for step in missing {
                try server.run(step.sql.replacing("@schema@", with: ServerConnection.quoted(name: address.schema)))
            }
            try commit()
            return missing.map(\.name)
        } catch {
            if server.isInTransaction { _ = try? server.run("ROLLBACK") }
            // Only its owner may change a table, so a right that somebody grants to a worker's role would not do.
            guard before > 0, before < Self.newest, let refusal = error as? ServerError, refusal.state == "42501" else {
                throw error
            }
            throw PenstockError(
                .olderSchema,
                "\(address.description) has schema version \(before), and this program has version \(Self.newest), to which the role may not "
                    + "bring it (\(refusal.message)); have its owner run `penstock migrate`.", cause: refusal)
        }
    }

    /// Throws `unreachable` when no answer comes: other failures of a connection say that nothing was done.
    private func commit() throws {
        do {
            try server.run("COMMIT")
        } catch let error as ServerError where error.isLost {
            throw PenstockError(
                .unreachable,
                "\(address.description) went away as the schema was brought to version \(Self.newest), which may have been done; do it again: a "
                    + "step that was taken is not taken twice.", cause: error)
        }
    }

    private var schemaText: String { ServerConnection.quoted(text: address.schema) }

    /// Makes the schema. One that is there is taken when it is empty, and never when it has another program's tables.
    private func makeSchema() throws {
        let isThere = try server.run("SELECT 1 FROM pg_namespace WHERE nspname = \(schemaText)").rowCount > 0
        if !isThere { try server.run("CREATE SCHEMA \(ServerConnection.quoted(name: address.schema))") }
        try refuseOtherPrograms()
    }

    /// Throws `notADatabase` when the schema has tables or views, none of which are Penstock's.
    private func refuseOtherPrograms() throws {
        let other = try server.run(
            """
            SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(schemaText))
                AND relkind IN ('r', 'p', 'v', 'm', 'f') LIMIT 1
            """)
        guard other.rowCount == 0 else {
            throw PenstockError(
                .notADatabase,
                "The schema \(address.schema) of \(address.description) belongs to another program (it has '\(other.text(0, 0))'); give "
                    + "Penstock one of its own with ?schema=NAME.")
        }
    }
}
