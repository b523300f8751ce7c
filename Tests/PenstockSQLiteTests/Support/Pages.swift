import GRDB
import GRDBSQLite
import PenstockCore

@testable import PenstockSQL
@testable import PenstockSQLite

extension SQLiteStore {
    /// Pages that the writer looks at in the course of `body`, which are the same on every machine.
    func pages(_ body: () async throws -> Void) async throws -> Int {
        @Sendable func count(_ database: Database) -> Int {
            var total = 0
            for kind in [SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS] {
                var (now, highest): (Int32, Int32) = (0, 0)
                sqlite3_db_status(database.sqliteConnection, kind, &now, &highest, 0)
                total += Int(now)
            }
            return total
        }
        let before = try await access.pool.writeWithoutTransaction { count($0) }
        try await body()
        return try await access.pool.writeWithoutTransaction { count($0) } - before
    }
}
