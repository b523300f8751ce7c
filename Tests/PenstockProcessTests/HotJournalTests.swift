import Foundation
import GRDB
import Testing

extension Proofs {
    /// A file is made in SQLite's way without a write-ahead log, until it has one. A process
    /// that dies at that moment leaves a journal, by which the next one takes back what was begun.
    @Suite struct HotJournalTests {
        @Test(arguments: [["enqueue", "q", "x", "--create"], ["migrate"], ["queue", "create", "q"]])
        func aFileWhoseMakerDiedIsMadeAgain(command: [String]) async throws {
            try await Site.use { site in
                try Self.leaveJournal(at: site)
                try await site.succeed(command)
                try await site.expectHealthy()
                #expect(try site.column("SELECT name FROM sqlite_schema WHERE name = 'half'") == [])
            }
        }

        /// Copies a database and its journal from under a transaction, as its end would leave them.
        private static func leaveJournal(at site: Site) throws {
            let path = "\(site.folder)/half-made.db"
            let queue = try DatabaseQueue(path: path)
            try queue.inDatabase { database in
                // A file that is not empty, and has no table.
                try database.execute(sql: "CREATE TABLE whole (a); DROP TABLE whole; PRAGMA cache_size = 1")
                try database.inTransaction {
                    try database.execute(sql: "CREATE TABLE half (a)")
                    // More than the cache holds, so that some of it is in the file by now.
                    for _ in 1...100 { try database.execute(sql: "INSERT INTO half VALUES (zeroblob(4000))") }
                    for suffix in ["", "-journal"] {
                        try FileManager.default.copyItem(atPath: path + suffix, toPath: site.file + suffix)
                    }
                    return .rollback
                }
            }
            try queue.close()
        }
    }
}
