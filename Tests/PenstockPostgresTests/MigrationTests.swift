import Foundation
import PenstockCore
import PenstockPostgresMigrations
import PenstockTestKit
import Testing

@testable import PenstockPostgres

@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct MigrationTests {
    /// The list names every file of the folder, in order.
    @Test func theListIsTheFolder() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Migrations/PostgreSQL/SQL")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
            .sorted()
        #expect(files.count == PostgresMigration.all.count)
        for (number, (file, step)) in zip(files, PostgresMigration.all).enumerated() {
            #expect(step.version == number + 1)
            #expect(
                file == String(repeating: "0", count: 4 - "\(step.version)".count) + "\(step.version)_\(step.name).sql")
            #expect(try String(contentsOf: folder.appending(path: file), encoding: .utf8) == step.sql)
        }
    }

    @Test func aSecondOpeningFindsTheStepsDone() async throws {
        let url = try PostgresServer.newURL()
        try await PostgresStore.open(url: url).close()
        try await PostgresStore.open(url: url).close()
        let address = try ServerAddress(url)
        let migrator = try SchemaMigrator(address, busyMax: .seconds(60))
        #expect(try migrator.migrate().isEmpty)
    }

    /// Many that come at once find one schema, made once.
    @Test func processesThatComeAtOnceMakeItOnce() async throws {
        let url = try PostgresServer.newURL()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await PostgresStore.open(url: url).close() } }
            try await group.waitForAll()
        }
    }

    /// One that has looked in its transaction, and then waited for another that makes the tables, sees them.
    @Test func aProcessThatLookedBeforeTheyWereMadeFindsThem() async throws {
        let address = try ServerAddress(PostgresServer.newURL())
        let late = try SchemaMigrator(address, busyMax: .seconds(60))
        try late.server.run("BEGIN")
        #expect(try late.version() == 0)
        try SchemaMigrator(address, busyMax: .seconds(60)).migrate()
        #expect(try late.version() == SchemaMigrator.newest)
        try late.server.run("ROLLBACK")
    }

    /// They are Penstock's all the same, and no other program's.
    @Test func tablesThatDoNotSayWhatTheyAreAreRefused() async throws {
        let url = try PostgresServer.newURL()
        try await PostgresStore.open(url: url).close()
        let address = try ServerAddress(url)
        try SchemaMigrator(address, busyMax: .seconds(60)).server.run("DELETE FROM penstock_migration")
        let error = await #expect(throws: PenstockError.self) { _ = try await PostgresStore.open(url: url) }
        #expect(
            error?.code == .corrupt && error?.message.contains("penstock_migration") == true,
            "\(String(describing: error))")
    }

    /// A row that a program inserts into a view would be nowhere, and it would be told that it is there.
    @Test func aSessionWithoutTriggersIsRefused() async throws {
        let url = try PostgresServer.newURL()
        try await PostgresStore.open(url: url).close()
        let options = "options=-c%20session_replication_role%3Dreplica"
        let error = await #expect(throws: PenstockError.self) {
            _ = try await PostgresStore.open(url: url + (url.contains("?") ? "&" : "?") + options)
        }
        #expect(error?.message.contains("session_replication_role") == true, "\(String(describing: error))")
    }

    @Test func whatIsNotThereIsNotMade() async throws {
        let url = try PostgresServer.newURL()
        let error = await #expect(throws: PenstockError.self) {
            _ = try await PostgresStore.open(url: url, options: .init(createIfMissing: false))
        }
        #expect(error?.code == .notFound)
    }

    @Test func anotherProgramsSchemaIsLeftAsItIs() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        let server = try ServerConnection(address)
        try server.run("CREATE SCHEMA \(address.schema); CREATE TABLE \(address.schema).shop (id int)")
        let error = await #expect(throws: PenstockError.self) { _ = try await PostgresStore.open(url: url) }
        #expect(error?.code == .notADatabase)
        #expect(error?.message.contains("shop") == true)
        let count = try server.run(
            "SELECT count(*) FROM pg_class WHERE relnamespace = '\(address.schema)'::regnamespace AND relkind = 'r'")
        #expect(String(decoding: count.bytes(0, 0), as: UTF8.self) == "1")
    }

    /// The right to create, which the server says is missing, is none that a worker should have.
    @Test func aRoleThatMayNotMigrateIsToldWhoDoes() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        let migrator = try SchemaMigrator(address, busyMax: .seconds(5))
        try migrator.migrate(to: 13)
        let role = PostgresServer.newName()
        try migrator.server.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(address.schema) TO \(role);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(address.schema) TO \(role)
            """)
        let error = await #expect(throws: PenstockError.self) {
            _ = try await PostgresStore.open(url: url.replacing("//penstock@", with: "//\(role)@"))
        }
        #expect(error?.code == .olderSchema)
        #expect(error?.message.contains("have its owner run `penstock migrate`") == true)
    }

    /// A shell or a report that has looked at a view, and whose transaction is open.
    @Test func writersGoOnWhileATransactionIsInTheWayOfTheSteps() throws {
        let address = try ServerAddress(try PostgresServer.newURL())
        let migrator = try SchemaMigrator(address, busyMax: .seconds(60))
        try migrator.migrate(to: 13)
        let report = try Sessions.connect(to: address, busyMax: .seconds(60))
        try report.run("BEGIN; SELECT count(*) FROM penstock_cursors")
        let writer = try Sessions.connect(to: address, busyMax: .seconds(60))
        var tries = 0
        let applied = try migrator.migrate {
            tries += 1
            #expect(throws: Never.self) { try writer.run("BEGIN; SELECT penstock_write_lock(); ROLLBACK") }
            #expect(throws: Never.self) { try report.run("COMMIT") }
        }
        #expect(tries == 1 && applied.count == SchemaMigrator.newest - 13)
    }

    /// The session ends at the COMMIT: nobody knows whether that came first.
    @Test func stepsWhoseCommitHasNoAnswerAreNotToldAsNotTaken() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        try SchemaMigrator(address, busyMax: .seconds(60)).migrate(to: 13)
        let commit = try HeldCommit(of: "\(address.schema).penstock_migration", at: url)
        let opening = Task { try await PostgresStore.open(url: url) }
        try await eventually { try commit.isReached }
        try commit.endSessions()
        try commit.letGo()
        let error = await #expect(throws: PenstockError.self) { _ = try await opening.value }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("which may have been done; do it again") == true)
        try await PostgresStore.open(url: url).close()
    }

    @Test func aNewerSchemaIsRefused() async throws {
        let url = try PostgresServer.newURL()
        try await PostgresStore.open(url: url).close()
        let address = try ServerAddress(url)
        try Sessions.connect(to: address, busyMax: .seconds(60)).run(
            "INSERT INTO penstock_migration VALUES (999, 'later', 0)")
        let error = await #expect(throws: PenstockError.self) { _ = try await PostgresStore.open(url: url) }
        #expect(error?.code == .newerSchema)
    }
}
