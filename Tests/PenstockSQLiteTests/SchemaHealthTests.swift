import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Parts of the schema that a file has lost, or that somebody has changed: what is said, and what is made anew.
@Suite(.timeLimit(.minutes(5))) struct SchemaHealthTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private static let parts = """
        SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name
        """

    /// A store with a queue, a file that has lost nothing, and another program on it.
    private func makeFile() async throws -> (SQLiteStore, ForeignProgram) {
        let store = try await harness.openWithJobs()
        try await store.put(.text("it"))
        return (store, try ForeignProgram(path))
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings
    }

    @Test(arguments: ["index", "view", "trigger"])
    func everyPartThatHoldsNoRowsIsMissedAndMadeAnew(kind: String) async throws {
        let (store, program) = try await makeFile()
        let before = try await program.rows(Self.parts)
        let names = try await program.rows(
            "SELECT name FROM sqlite_schema WHERE type = '\(kind)' AND sql IS NOT NULL ORDER BY name")
        #expect(names.count > 4)
        for name in names { try await program.run("DROP \(kind) \(name)") }
        let found = try await findings()
        #expect(found.allSatisfy { $0.kind == .wrongSchema && $0.severity == .error }, "\(found)")
        let messages = found.map(\.message).filter { $0.hasPrefix("The \(kind) ") }.sorted()
        #expect(messages == names.map { "The \(kind) \($0) is missing; `penstock doctor --repair` makes it anew." })
        // A view takes its triggers with it.
        let repairs = try await SQLiteStore.repair(path: path, time: harness.time).repairs.map(\.message)
        #expect(
            repairs.filter { $0.hasPrefix("The \(kind) ") }.sorted() == names.map { "The \(kind) \($0) was made anew." }
        )
        #expect(repairs.count == found.count)
        #expect(try await program.rows(Self.parts) == before)
        #expect(try await findings() == [])
        try await program.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'plain')")
        #expect(try await store.take(9).count == 2)
        try await store.close()
    }

    @Test(arguments: [
        ("index penstock_outcome_dead", "CREATE INDEX penstock_outcome_dead ON penstock_outcome (finished_at)"),
        ("index penstock_log_queue", "CREATE INDEX penstock_log_queue ON penstock_attempt (worker)"),
        ("view penstock_queues", "CREATE VIEW penstock_queues AS SELECT 1 AS queue"),
        (
            "trigger penstock_queue_deleted",
            "CREATE TRIGGER penstock_queue_deleted AFTER DELETE ON penstock_queue BEGIN SELECT 1; END"
        ),
    ])
    func whatWasChangedByHandIsMadeAnew(_ name: String, _ sql: String) async throws {
        let (store, program) = try await makeFile()
        let before = try await program.rows(Self.parts)
        try await program.run("DROP \(name); \(sql)")
        #expect(
            try await findings().map(\.message) == [
                "The \(name) is not the one that the migrations make; `penstock doctor --repair` makes it anew."
            ])
        let wouldBe = try await SQLiteStore.repair(path: path, dryRun: true, time: harness.time)
        #expect(wouldBe.repairs.map(\.message) == ["The \(name) was made anew."])
        #expect(try await findings().count == 1, "A dry run changes nothing.")
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await program.rows(Self.parts) == before)
        try await store.close()
    }

    /// What is in the way stays: nobody knows what it holds.
    @Test func anotherThingOfTheSameNameIsLeftAsItIs() async throws {
        let (store, program) = try await makeFile()
        try await program.run(
            "DROP VIEW penstock_drops; CREATE TABLE penstock_drops (x); INSERT INTO penstock_drops VALUES (7)")
        let message = "The view penstock_drops is missing, and a table has its name; rename that one."
        #expect(try await findings().map(\.message) == [message])
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [])
        #expect(try await findings().map(\.message) == [message])
        #expect(try await program.number("SELECT x FROM penstock_drops") == 7)
        try await store.close()
    }

    /// Tables hold rows, which no migration brings back.
    @Test func aLostTableIsSaidAndNotRepaired() async throws {
        let (store, program) = try await makeFile()
        try await store.close()
        let tables = try await program.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'penstock_migration'")
        #expect(tables.count > 10)
        // The last to close the file puts its log away.
        try program.close()
        let whole = try bytes(of: path)
        for table in tables {
            let copy = harness.folder.file("\(table).db")
            try whole.write(to: .init(filePath: copy))
            try await ForeignProgram(copy).run("DROP TABLE \(table)")
            let found = try await SQLiteStore.inspectHealth(path: copy, time: harness.time).findings
            let schema = found.filter { $0.kind == .wrongSchema }.map(\.message)
            #expect(schema == ["The table \(table) is missing; restore the file from a copy."], "\(found)")
            let before = try bytes(of: copy)
            let error = await expect(.corrupt) { try await SQLiteStore.repair(path: copy) }
            #expect(error?.message.contains(table) == true)
            #expect(try bytes(of: copy) == before)
        }
    }

    @Test func aLostColumnIsSaidAndNotRepaired() async throws {
        let (store, program) = try await makeFile()
        try await program.run("ALTER TABLE penstock_attempt RENAME COLUMN error TO mistake")
        let found = try await findings().filter { $0.kind == .wrongSchema }.map(\.message)
        #expect(
            found.contains(
                "The table penstock_attempt has not its columns as the migrations make them (error); restore the file from a "
                    + "copy."), "\(found)")
        await expect(.corrupt) { try await SQLiteStore.repair(path: path) }
        // A column that an application has added is its own.
        try await program.run("ALTER TABLE penstock_attempt RENAME COLUMN mistake TO error")
        try await program.run("ALTER TABLE penstock_log ADD COLUMN mine TEXT")
        #expect(try await findings().filter { $0.message.contains("table") } == [])
        try await store.close()
    }

    /// A file that has lost `penstock_migration`, or the rows of it, is not one that has yet to be made.
    @Test(arguments: [
        "DROP TABLE penstock_migration", "DELETE FROM penstock_migration",
        "DELETE FROM penstock_migration WHERE version = 4", "DELETE FROM penstock_migration WHERE version = 1",
        "DELETE FROM penstock_migration WHERE version = \(SchemaMigrator.newest)",
        "DELETE FROM penstock_migration WHERE version > 2",
    ])
    func aFileThatDoesNotSayWhichSchemaItHasIsDamaged(_ sql: String) async throws {
        let (store, program) = try await makeFile()
        try await store.close()
        try await program.run(sql)
        let before = try bytes(of: path)
        for error in [
            await expect(.corrupt, { try await SQLiteStore.open(path: path) }),
            await expect(.corrupt, { try await SQLiteReader.open(path: path) }),
            await expect(.corrupt, { try await SQLiteStore.repair(path: path) }),
        ] {
            #expect(error?.message.contains("penstock_migration") == true)
            #expect(error?.message.contains("restore it from a copy") == true)
        }
        let found = try await findings().filter { $0.severity == .error }
        #expect(found.map(\.kind) == [.unreadable], "\(found)")
        #expect(try bytes(of: path) == before)
    }
}
