import Foundation
import GRDB
import PenstockMigrations
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// A command that does much in small steps is killed between two of them: the file is sound, what it did is whole,
    /// and the command can be run again.
    @Suite struct MiddleTests {
        private static let count = 20_000
        private static let triesMax = 30

        /// Calls `body` with a site where nothing of the log goes to the file until the end, and lines to enqueue.
        private func use(_ body: (Site, SeededRandom) async throws -> Void) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "other"])
                    try await site.succeed(["enqueue", "other", "stays"])
                    // While somebody has the file open, the write-ahead log stays where it is.
                    let holder = try DatabaseQueue(path: site.file)
                    defer { try? holder.close() }
                    try await body(site, random)
                    #expect(
                        try site.column("SELECT payload || state FROM penstock_messages WHERE queue = 'other'")
                            == ["staysready"])
                    try await site.expectHealthy()
                }
            }
        }

        /// Makes the queue `q` with many messages, all cancelled if they are to be history.
        private func fill(_ site: Site, cancelled: Bool) async throws {
            try await site.succeed(["queue", "create", "q", "--if-absent"])
            try await site.succeed(
                ["enqueue", "q", "--lines"], input: Array((1...Self.count).map { "\($0)\n" }.joined().utf8))
            if cancelled { try await site.succeed(["cancel", "--queue", "q"]) }
        }

        private func left(_ site: Site, in queue: String) throws -> Int {
            try site.number("SELECT count(*) FROM penstock_messages WHERE queue = ?", [queue])
        }

        /// A half-deleted queue says so: it takes and gives no messages until the deletion is asked for again.
        @Test func deletingAQueue() async throws {
            try await use { site, random in
                var isDone = false
                for _ in 1...Self.triesMax where !isDone {
                    if try site.column("SELECT queue FROM penstock_queues WHERE deleting") == ["q"] {
                        try await site.succeed(["queue", "delete", "q", "--force"])
                    }
                    if try left(site, in: "q") == 0 { try await fill(site, cancelled: false) }
                    _ = try await site.strike(
                        ["queue", "delete", "q", "--force"], afterWrites: random.next(in: 1...30))
                    let found = try left(site, in: "q")
                    isDone = 1..<Self.count ~= found
                    let isDeleting = try site.column("SELECT queue FROM penstock_queues WHERE deleting") == ["q"]
                    if isDone { #expect(isDeleting) }
                    try await site.expectHealthy(besides: isDeleting ? "deletion of the queue 'q'" : nil)
                }
                #expect(isDone, "no kill came in the middle; \(Proofs.repeatable)")
                try await site.succeed(["queue", "delete", "q", "--force"])
                #expect(try site.column("SELECT queue FROM penstock_queues") == ["other"])
                #expect(try site.number("SELECT count(*) FROM penstock_log") == 1)
            }
        }

        @Test func pruning() async throws {
            try await use { site, random in
                let prune = ["prune", "q", "--retain-count", "0"]
                var isDone = false
                for _ in 1...Self.triesMax where !isDone {
                    if try left(site, in: "q") == 0 { try await fill(site, cancelled: true) }
                    _ = try await site.strike(prune, afterWrites: random.next(in: 1...30))
                    let found = try left(site, in: "q")
                    isDone = 1..<Self.count ~= found
                    #expect(try site.number("SELECT kept FROM penstock_queues WHERE queue = 'q'") == found)
                    try await site.expectHealthy()
                }
                #expect(isDone, "no kill came in the middle; \(Proofs.repeatable)")
                try await site.succeed(prune)
                #expect(try left(site, in: "q") == 0)
            }
        }

        /// What was replayed says where it came from, so the rest can be found.
        @Test func replayingIntoAnotherQueue() async throws {
            try await use { site, random in
                try await fill(site, cancelled: true)
                let first = try site.number("SELECT min(sequence) FROM penstock_messages WHERE queue = 'q'")
                var isDone = false
                for number in 1...Self.triesMax where !isDone {
                    let target = "r\(number)"
                    try await site.succeed(["queue", "create", target])
                    let replay = ["replay", "q", "--into", target, "--from"]
                    _ = try await site.strike(replay + ["\(first)"], afterWrites: random.next(in: 1...30))
                    let found = try left(site, in: target)
                    isDone = 1..<Self.count ~= found
                    try await site.expectHealthy()
                    if found < Self.count { try await site.succeed(replay + ["\(first + found)"]) }
                    let origins = try site.column(
                        "SELECT origin FROM penstock_messages WHERE queue = ? ORDER BY sequence", [target])
                    #expect(origins == (first..<first + Self.count).map(String.init), Proofs.repeatable)
                }
                #expect(isDone, "no kill came in the middle; \(Proofs.repeatable)")
            }
        }

        /// Each step of the schema is there whole or not at all, and the next opening goes on from there.
        @Test func bringingAnOlderFileUpToDate() async throws {
            try await Proofs.withSeed { random in
                for _ in 1...Self.triesMax {
                    try await Site.use { site in
                        let old = random.next(in: 1...2)
                        let holder = try Self.file(site.file, version: old)
                        defer { try? holder.close() }
                        _ = try await site.strike(["migrate"], afterWrites: random.next(in: 1...12))

                        let version = try site.number("SELECT max(version) FROM penstock_migration")
                        let reference = try Self.file("\(site.folder)/reference.db", version: version)
                        let schema = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY name"
                        let expected = try await reference.read { try String.fetchAll($0, sql: schema) }
                        #expect(try site.column(schema) == expected, Proofs.repeatable)
                        try reference.close()

                        try await site.succeed(["migrate"])
                        try await site.succeed(["enqueue", "q", "x", "--create"])
                        #expect(try site.number("SELECT max(version) FROM penstock_migration") == Migration.all.count)
                        try await site.expectHealthy()
                    }
                }
            }
        }

        /// A file with so many steps of the schema, open.
        private static func file(_ path: String, version: Int) throws -> DatabaseQueue {
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
                for step in Migration.all.prefix(version) {
                    try database.inTransaction {
                        try database.execute(sql: step.sql)
                        return .commit
                    }
                }
            }
            return queue
        }
    }
}
