import Foundation
import GRDB
import Subprocess
import Testing

extension Faults {
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

        /// A look cannot take it back, and says so of the file and not of its permissions.
        @Test func theDoctorSaysWhatTakesItBack() async throws {
            try await Site.use { site in
                try Self.leaveJournal(at: site)
                let before = FileManager.default.contents(atPath: site.file)
                let looked = try await site.run(["doctor"])
                #expect(looked.status == .exited(1))
                #expect(
                    looked.output
                        == "fail  A program died in the middle of a change to the file, and only one that writes takes that "
                        + "back; run `penstock migrate`, and look again.\n")
                #expect(looked.errors == "penstock: 1 of the checks failed.\n")
                #expect(FileManager.default.contents(atPath: site.file) == before)
                #expect(FileManager.default.fileExists(atPath: site.file + "-journal"))
                try await site.succeed(["migrate"])
                try await site.expectHealthy()
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
