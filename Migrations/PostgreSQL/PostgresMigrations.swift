private import CPenstockPostgresMigrations

/// The schema in PostgreSQL, as numbered steps. A step that has been released is never changed; a change is a new step.
package struct PostgresMigration: Sendable {
    /// Its number: 1 for the first.
    package let version: Int
    /// Its name, from the file's: `log` for `0002_log.sql`.
    package let name: String

    /// Its statements, with `@schema@` where the quoted name of the schema belongs. The last one records the step in
    /// `penstock_migration`.
    package var sql: String { String(cString: penstock_postgres_migrations_step_at(Int32(version - 1)).sql) }

    /// Every step, in order. A test holds them against the folder.
    package static let all: [PostgresMigration] = (0..<penstock_postgres_migrations_step_count()).map(
        PostgresMigration.init)

    private init(at index: Int32) {
        version = Int(index) + 1
        name = String(cString: penstock_postgres_migrations_step_at(index).name)
    }
}
