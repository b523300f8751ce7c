import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What an inspection sees, and that it changes nothing.
@Suite(.timeLimit(.minutes(5))) struct HealthTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private func report(stuckAfter: Duration = .seconds(3600)) async throws -> HealthReport {
        try await SQLiteStore.inspectHealth(path: path, stuckAfter: stuckAfter, time: harness.time)
    }

    @Test func aSoundFileAtWorkIsHealthy() async throws {
        let store = try await harness.openWithEachPlace()
        let report = try await report()
        #expect(report.findings == [])
        #expect(report.isHealthy)
        #expect(report.schemaVersion == SchemaMigrator.newest)
        #expect(report.schemaVersionKnown == SchemaMigrator.newest)
        #expect(report.file.journalMode == "wal")
        #expect(report.file.givesBackPages)
        #expect(report.file.pageBytes == 4096)
        #expect(report.file.pageCount > 10)
        #expect(report.file.walBytes > 0)
        #expect(report.file.walPages == report.file.walPagesCheckpointed)
        #expect(report.expiredLeases == 0)
        #expect(report.deadWorkers.isEmpty)
        #expect(report.stuckWorkers.isEmpty)
        try await store.close()
    }

    @Test func itChangesNothing() async throws {
        let store = try await harness.openWithEachPlace()
        try await store.close()
        let before = try bytes(of: path)
        #expect(try await report().isHealthy)
        #expect(try bytes(of: path) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: harness.folder.path)
        #expect(Set(names).isSubset(of: ["queue.db", "queue.db-penstock", "queue.db-wal", "queue.db-shm"]))
    }

    @Test func whatIsNoDatabaseIsSaid() async throws {
        await expect(.notFound) { try await report() }
        try Data(repeating: 65, count: 5000).write(to: URL(fileURLWithPath: path))
        await expect(.notADatabase) { try await report() }
        await expect(.notADatabase) { try await SQLiteStore.inspectHealth(path: harness.folder.path) }
    }

    @Test func otherSchemasAreReported() async throws {
        try await makeOlderFile(version: 9, at: path)
        var found = try await report()
        #expect(found.schemaVersion == 9)
        #expect(found.findings.map(\.kind) == [.olderSchema])
        try await ForeignProgram(path).run("INSERT INTO penstock_migration VALUES (99, 'later', 0)")
        let before = try bytes(of: path)
        found = try await report()
        #expect(found.schemaVersion == 99)
        #expect(found.findings.map(\.kind) == [.newerSchema])
        #expect(found.file.walPages == nil, "Not even a checkpoint.")
        #expect(try bytes(of: path) == before)
    }

    @Test func aFileWithoutTablesIsReported() async throws {
        try await ForeignProgram(path).run("CREATE TABLE _litestream_seq (id INTEGER)")
        let found = try await report()
        #expect(found.schemaVersion == 0)
        #expect(Set(found.findings.map(\.kind)) == [.olderSchema, .journalMode, .keepsPages])
    }

    @Test func anotherProgramsFileIsRefused() async throws {
        try await ForeignProgram(path).run("CREATE TABLE address (name TEXT)")
        await expect(.notADatabase) { try await report() }
    }

    @Test func deadWorkersAndEndedLeasesAreReported() async throws {
        let store = try await harness.openWithJobs()
        let dead = try await harness.openStore()
        for number in 1...3 { try await store.put(.text("\(number)")) }
        _ = try await dead.take(2)
        _ = try await store.take(1)
        await dead.crash()
        var found = try await report()
        #expect(found.deadWorkers.map(\.leased) == [2])
        #expect(found.findings.map(\.kind) == [.deadWorkers])

        harness.time.advance(by: .seconds(31))
        found = try await report()
        #expect(found.expiredLeases == 1, "The others are a dead worker's.")
        #expect(Set(found.findings.map(\.kind)) == [.deadWorkers, .expiredLeases])
        _ = try await store.reclaim()
        #expect(try await report().findings == [])
        try await store.close()
    }

    /// Nobody settles these, and no row tells of whoever had them.
    @Test func leasesOfAWorkerWithoutARowAreReported() async throws {
        let store = try await harness.openWithJobs()
        for number in 1...2 { try await store.put(.text("\(number)")) }
        _ = try await store.take(2)
        #expect(try await report().findings == [])
        try await ForeignProgram(path).run("DELETE FROM penstock_worker")
        let found = try await report().findings
        #expect(found.map(\.kind) == [.deadWorkers])
        #expect(found.first?.message.hasPrefix("2 messages are leased to a worker that has no row") == true)
        _ = try await store.reclaim()
        #expect(try await report().findings == [])
        try await store.close()
    }

    @Test func aWorkerThatIsStuckIsReported() async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("it"))
        let message = try #require(try await store.take().first)
        for _ in 1...10 {
            harness.time.advance(by: .seconds(60))
            #expect(try await store.extend([message.lease], by: .seconds(600)) == [true])
        }
        #expect(try await report(stuckAfter: .seconds(600)).findings == [])
        let found = try await report(stuckAfter: .seconds(599))
        #expect(found.stuckWorkers.map(\.processID) == [getpid()])
        #expect(found.findings.map(\.kind) == [.stuckWorkers])
        try await store.close()
    }

    @Test func aReaderThatHoldsTheLogIsReported() async throws {
        let store = try await harness.openWithJobs()
        let reader = try ForeignProgram(path)
        try await reader.run("BEGIN")
        _ = try await reader.rows("SELECT * FROM penstock_messages")
        for number in 1...5 { try await store.put(.text("\(number)")) }
        let found = try await report()
        #expect(found.findings.map(\.kind) == [.walHeld])
        #expect((found.file.walPagesCheckpointed ?? 0) < (found.file.walPages ?? 0))
        try await reader.run("COMMIT")
        #expect(try await report().findings == [])
        try await store.close()
    }

    /// What was done to the file by hand, and what is then wrong.
    @Test(arguments: [
        ("UPDATE penstock_depth SET ready = 7, kept = 0", ["wrongDepths", "wrongDepths"]),
        ("DELETE FROM penstock_ready WHERE sequence = 4", ["misplaced", "wrongDepths"]),
        ("INSERT INTO penstock_outcome VALUES (1, 4, 'done', NULL, 1, 1)", ["misplaced", "wrongDepths", "wrongKeys"]),
        ("UPDATE penstock_ready SET priority = 3 WHERE sequence = 4", ["misplaced", "misplaced"]),
        ("DELETE FROM penstock_log WHERE sequence = 1", ["misplaced"]),
        ("DELETE FROM penstock_unique WHERE sequence = 5", ["wrongKeys"]),
        ("INSERT INTO penstock_unique VALUES (1, 'nobody', 999, NULL)", ["wrongKeys"]),
        ("INSERT INTO penstock_unique VALUES (1, 'key 1', 1, NULL)", ["wrongKeys"]),
        ("UPDATE penstock_state SET last_sequence = 3", ["wrongSequence"]),
        ("DELETE FROM penstock_state", ["wrongSequence"]),
        ("DELETE FROM penstock_queue", ["misplaced"]),
        ("INSERT INTO penstock_cursor VALUES (1, 'ahead', 999, 0, NULL, 0)", ["strayCursor"]),
        ("INSERT INTO penstock_cursor VALUES (9, 'lost', 1, 0, NULL, 0)", ["strayCursor"]),
        (
            "INSERT INTO penstock_schedule (name, queue_id, spec, payload, anchor) VALUES ('lost', 9, '@daily', x'', 0)",
            ["straySchedule"]
        ),
        (
            "DROP TABLE penstock_outcome",
            ["unreadable", "unreadable", "unreadable", "unreadable", "unreadable", "unreadable", "wrongSchema"]
        ),
        ("UPDATE penstock_log SET headers = '1'", ["wrongHeaders"]),
        ("UPDATE penstock_log SET headers = '{\"a=b\": \"1\"}'", ["wrongHeaders"]),
        ("INSERT INTO penstock_worker VALUES (71, '../victim', 'w', 1, 'b', 0)", ["wrongWorkers"]),
        ("UPDATE penstock_log SET enqueued_at = -1", ["wrongTimes"]),
        ("DROP TRIGGER penstock_queue_updated", ["wrongSchema"]),
        // A value that its column does not allow.
        ("PRAGMA ignore_check_constraints = 1; UPDATE penstock_queue SET retain_age = -1", ["damaged"]),
    ])
    func whatIsNotAsItShouldBeIsReported(_ sql: String, _ kinds: [String]) async throws {
        let store = try await harness.openWithEachPlace()
        try await ForeignProgram(path).run(sql)
        let found = try await report()
        #expect(found.findings.map(\.kind.rawValue).sorted() == kinds, "\(found.findings)")
        #expect(!found.isHealthy)
        #expect(found.findings.allSatisfy { $0.severity == .error })
        await store.crash()
    }

    /// People and programs that read no more than the first of them know how bad it is.
    @Test func theWorstComesFirst() async throws {
        try await harness.openWithEachPlace().close()
        let program = try ForeignProgram(path)
        _ = try await program.rows("PRAGMA journal_mode = delete")
        try await program.run("DELETE FROM penstock_ready WHERE sequence = 4")
        let found = try await report().findings
        #expect(found.first?.severity == .error)
        #expect(found.last?.kind == .journalMode && found.last?.severity == .note)
    }

    @Test func aDamagedPageIsReported() async throws {
        try await harness.openWithEachPlace().close()
        let size = try bytes(of: path).count
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(size - 4096))
        try file.write(contentsOf: Data(repeating: 0xa5, count: 4096))
        try file.close()
        let found = try await report()
        #expect(!found.isHealthy)
        #expect(found.findings.first?.severity == .error)
    }
}
