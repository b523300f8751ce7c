import Foundation
import GRDB
import PenstockCore
import PenstockMigrations
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The schema: the same by program and by hand, in whole steps, and never of a version that is not known.
@Suite(.timeLimit(.minutes(5))) struct MigrationTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    /// The SQL files of the repository, by name.
    private static func files() throws -> [(name: String, sql: String)] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let folder = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Migrations/SQL")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try names.sorted().map { name in
            (name, try String(contentsOf: folder.appending(path: name), encoding: .utf8))
        }
    }

    private static let schemaSQL = """
        SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name
        """

    @Test func theListIsTheFolder() throws {
        let files = try Self.files()
        #expect(!files.isEmpty)
        #expect(files.map(\.sql) == Migration.all.map(\.sql))
        for (number, (file, step)) in zip(files, Migration.all).enumerated() {
            let digits = String(repeating: "0", count: 4 - String(number + 1).count) + String(number + 1)
            #expect(file.name == "\(digits)_\(step.name).sql")
            #expect(step.version == number + 1, "No number is left out.")
        }
    }

    @Test func eachStepRecordsItselfLast() throws {
        for step in Migration.all {
            let last = try #require(
                step.sql.split(separator: "\n").last { !$0.allSatisfy(\.isWhitespace) && !$0.hasPrefix("--") })
            #expect(last.hasPrefix("INSERT INTO penstock_migration VALUES (\(step.version), '\(step.name)',"))
        }
    }

    /// After a new step: `tools/baseline`.
    @Test func theBaselineIsWhatTheStepsLeave() throws {
        let (byBaseline, bySteps) = (try DatabaseQueue(), try DatabaseQueue())
        try byBaseline.inDatabase { try $0.execute(sql: Migration.baseline) }
        try bySteps.inDatabase { database in
            for step in Migration.all { try database.execute(sql: step.sql) }
        }
        #expect(try contents(of: byBaseline) == contents(of: bySteps))
    }

    /// Every part of the schema as SQLite has it, and the rows of its tables but for when each step was applied.
    private func contents(of database: DatabaseQueue) throws -> [String] {
        try database.read { database in
            let parts = try Row.fetchAll(database, sql: Self.schemaSQL)
            let tables = parts.filter { $0["type"] == "table" }.map { $0["name"] as String }
            #expect(tables.count > 10)
            let rows = try tables.flatMap { table in
                try Row.fetchAll(database, sql: "SELECT '\(table)' AS \"table\", * FROM \(table)")
            }
            #expect(rows.count > Migration.all.count)
            return (parts + rows).map { row in
                row.filter { $0.0 != "applied_at" }.map { "\($0.0): \($0.1)" }.joined(separator: ", ")
            }
        }
    }

    @Test func aFileMadeByHandIsTheSameAndWorks() async throws {
        let byHand = folder.file("by-hand.db")
        let shell = SQLiteShell(path: byHand)
        try await shell.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")
        for file in try Self.files() {
            let answer = try await shell.run(file.sql)
            #expect(answer.succeeded, "\(file.name): \(answer.errors)")
        }
        try await shell.run("INSERT INTO penstock_queue (name) VALUES ('jobs')")
        try await shell.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'by hand')")

        let byProgram = try await SQLiteStore.open(path: path)
        let store = try await SQLiteStore.open(path: byHand)
        let schemas = try await [
            ForeignProgram(byHand).rows(Self.schemaSQL), ForeignProgram(path).rows(Self.schemaSQL),
        ]
        #expect(schemas[0] == schemas[1])
        #expect(schemas[0].count > 10)
        for pragma in ["auto_vacuum", "journal_mode", "page_size", "encoding", "user_version"] {
            let values = try await [
                ForeignProgram(byHand).rows("PRAGMA \(pragma)"), ForeignProgram(path).rows("PRAGMA \(pragma)"),
            ]
            #expect(values[0] == values[1], "\(pragma)")
        }
        #expect(try await store.take().map { String(decoding: $0.payload, as: UTF8.self) } == ["by hand"])
        try await store.put(.text("by program"))
        #expect(try await store.texts() == ["by hand", "by program"])
        try await store.close()
        try await byProgram.close()
    }

    @Test(arguments: 0..<Migration.all.count)
    func goesOnAfterACrashBetweenTwoSteps(_ done: Int) async throws {
        let early = try DatabaseQueue(path: path)
        for step in Migration.all.prefix(done) {
            try await early.write { try $0.execute(sql: step.sql) }
        }
        try early.close()
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        #expect(try await store.take().count == 1)
        let steps = try await ForeignProgram(path).rows("SELECT version, name FROM penstock_migration ORDER BY version")
        #expect(steps == Migration.all.map { "\($0.version)|\($0.name)" })
        try await store.close()
    }

    /// An older file keeps the steps before it; a new one has all or none.
    @Test(arguments: [0, 1])
    func aStepThatFailsLeavesNothingOfItself(done: Int) throws {
        let database = try DatabaseQueue(path: path)
        try database.inDatabase { database in
            for step in Migration.all.prefix(done) { try database.execute(sql: step.sql) }
            // The third step meets a view that is in its way, in the middle.
            try database.execute(sql: "CREATE VIEW penstock_attempt AS SELECT 1")
        }
        #expect(throws: DatabaseError.self) {
            try database.inDatabase { try SchemaMigrator(path: path).migrate($0) }
        }
        try database.inDatabase { database in
            let kept = done == 0 ? 0 : 2
            #expect(try SchemaMigrator.version(of: database) == kept)
            #expect(try !database.tableExists("penstock_worker"), "It stands before the view that was in the way.")
            #expect(try database.tableExists("penstock_log") == (kept > 0))
            try database.execute(sql: "DROP VIEW penstock_attempt")
            #expect(try SchemaMigrator(path: path).migrate(database) == Migration.all.dropFirst(kept).map(\.name))
        }
    }

    @Test(arguments: ["wal", "delete"])
    func aNewerSchemaIsRefusedAndTheFileUntouched(_ journal: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
        let newer = try ForeignProgram(path)
        try await newer.run("INSERT INTO penstock_migration VALUES (\(SchemaMigrator.newest + 1), 'later', 0)")
        _ = try await newer.rows("PRAGMA journal_mode = \(journal)")
        try newer.close()

        let before = try bytes(of: path)
        let error = await expect(.newerSchema) { try await SQLiteStore.open(path: path) }
        #expect(error?.message.contains("version \(SchemaMigrator.newest + 1)") == true)
        #expect(try bytes(of: path) == before)
        let found = try ForeignProgram(path)
        #expect(try await found.rows("PRAGMA journal_mode") == [journal])
        #expect(try await found.number("SELECT count(*) FROM penstock_messages") == 1)
    }

    @Test func aNewerSchemaIsRefusedByAnApplicationsPool() async throws {
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.close()
        try await pool.write {
            try $0.execute(sql: "INSERT INTO penstock_migration VALUES (\(SchemaMigrator.newest + 1), 'later', 0)")
        }
        await expect(.newerSchema) { try await SQLiteStore.open(pool: pool) }
    }
}
