private import CPenstockMigrations

/// The schema, as numbered steps. A step that has been released is never changed; a change is a new step.
package struct Migration: Sendable {
    /// Its number: 1 for the first.
    package let version: Int
    /// Its name, from the file's: `log` for `0001_log.sql`.
    package let name: String

    /// Its statements. The last one records the step in `penstock_migration`, so that a file made by hand and one
    /// made by the program are the same.
    package var sql: String { String(cString: penstock_migrations_step_at(Int32(version - 1)).sql) }

    /// Every step, in order. A test holds them against the folder.
    package static let all: [Migration] = (0..<penstock_migrations_step_count()).map(Migration.init)

    /// What all steps together leave in a new file, as SQL: a tenth of the time that they take one after the other, most of which
    /// goes into tables and views that later ones make anew. `tools/baseline` writes it, and a test holds it against the steps.
    package static var baseline: String { String(cString: penstock_migrations_baseline()) }

    /// The tables, indexes, views and triggers that it makes, but for indexes that are unique: each as its type in `sqlite_schema` and its name.
    package var parts: [String] {
        sql.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count > 3, words[0] == "CREATE", ["TABLE", "INDEX", "VIEW", "TRIGGER"].contains(words[1]) else {
                return nil
            }
            return "\(words[1].lowercased()) \(words[2])"
        }
    }

    private init(at index: Int32) {
        version = Int(index) + 1
        name = String(cString: penstock_migrations_step_at(index).name)
    }
}
