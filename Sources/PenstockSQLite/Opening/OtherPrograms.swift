import GRDB
import PenstockCore

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
