import Foundation
import GRDB
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// What a COMMIT writes to the write-ahead log, in one call or in several, is what SQLite finds there after a crash.
@Suite(.timeLimit(.minutes(5))) struct CommitTests {
    private static func contents(_ database: Database) throws -> [String] {
        try String.fetchAll(database, sql: "SELECT id || ' ' || hex(x) FROM t ORDER BY id")
    }

    /// Large and small transactions, of pages that are written before their COMMIT, and again after that; or rolled back in part, and then
    /// as the store's are, which writes none before. With checkpoints, after which the log begins anew.
    @Test(arguments: 1...16 as ClosedRange<UInt64>) func whatIsCommittedIsThereAfterACrash(seed: UInt64) throws {
        let folder = TemporaryFolder()
        let random = SeededRandom(seed: seed)
        let path = folder.file("a.db")
        let pool = try DatabasePool(path: path)
        try pool.write { try $0.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)") }
        try pool.writeWithoutTransaction { database in
            try database.execute(
                sql: "PRAGMA cache_size = \(random.pick([3, 10]) ?? 3); PRAGMA wal_autocheckpoint = 60")
            let isRolledBackInPart = seed.isMultiple(of: 2)
            if isRolledBackInPart { try OpenFile.keepUnwrittenPages(database) }
            let connection = SQLiteConnection(database)
            for round in 1...25 {
                let before = try Self.contents(database)
                try database.execute(sql: "BEGIN IMMEDIATE")
                for _ in 0..<(random.pick([1, 3, 60]) ?? 1) {
                    let isTried = isRolledBackInPart && random.chance(0.3)
                    if isTried { try database.execute(sql: "SAVEPOINT part") }
                    for _ in 1...(random.next(in: 1...8)) { try Self.change(database, random) }
                    if isTried { try database.execute(sql: random.chance(0.5) ? "ROLLBACK TO part" : "RELEASE part") }
                }
                let isKept = random.chance(0.7)
                if isKept { try connection.commit() } else { try database.execute(sql: "ROLLBACK") }
                let after = try Self.contents(database)
                if !isKept { #expect(after == before, "seed \(seed), round \(round)") }

                // As a crash leaves it: without what the processes share of the log.
                let copy = folder.file("copy-\(round).db")
                for end in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: path + end, toPath: copy + end)
                }
                let found = try DatabaseQueue(path: copy)
                try found.read {
                    let (left, check) = (try Self.contents($0), try String.fetchAll($0, sql: "PRAGMA integrity_check"))
                    #expect(left == after && check == ["ok"], "seed \(seed), round \(round)")
                }
                try found.close()
            }
        }
        try pool.close()
    }

    private static func change(_ database: Database, _ random: SeededRandom) throws {
        let (id, bytes) = (random.next(in: 1...300), random.next(in: 1...3_000))
        if random.chance(0.8) {
            try database.execute(sql: "INSERT OR REPLACE INTO t VALUES (?, randomblob(?))", arguments: [id, bytes])
        } else {
            try database.execute(sql: "DELETE FROM t WHERE id % 7 = ? % 7", arguments: [id])
        }
    }

    @Test func aStoreWritesNothingBeforeItsCommit() async throws {
        let folder = TemporaryFolder()
        let store = try await SQLiteStore.openWithJobs(folder.file("a.db"))
        let spill = try await store.access.pool.writeWithoutTransaction {
            try Int.fetchOne($0, sql: "PRAGMA cache_spill")
        }
        #expect(spill == 0)
        try await store.close()
    }

    /// A database without a write-ahead log gets no functions before those of its journal.
    @Test func aRollbackJournalStaysAsItIs() throws {
        let folder = TemporaryFolder()
        let queue = try DatabaseQueue(path: folder.file("a.db"))
        try queue.writeWithoutTransaction { database in
            for value in 1...3 {
                try database.execute(
                    sql: "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x BLOB)")
                try database.execute(sql: "INSERT INTO t VALUES (\(value), x'00')")
                try SQLiteConnection(database).commit()
            }
            let rows = try Self.contents(database)
            #expect(rows.count == 3)
        }
        try queue.close()
    }
}
