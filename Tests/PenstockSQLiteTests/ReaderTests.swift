import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A file that is only read: what is seen of it, and that nothing of it changes.
@Suite(.timeLimit(.minutes(5))) struct ReaderTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    }

    private func texts(_ reader: SQLiteReader) async throws -> [String] {
        try await reader.messages(MessageQuery(withPayload: true)).map {
            String(decoding: $0.payload ?? [], as: UTF8.self)
        }
    }

    @Test func aClosedFileIsReadAndNothingIsMade() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
        try FileManager.default.removeItem(atPath: path + "-penstock")
        let before = try bytes(of: path)
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await texts(reader) == ["it"])
        #expect(try await reader.status(of: nil).queues.map(\.depths.ready) == [1])
        #expect(try await reader.log(LogQuery(queue: .jobs, .last(1))).records.count == 1)
        try await reader.close()
        #expect(try files() == ["queue.db"])
        #expect(try bytes(of: path) == before)
        await expect(.closed) { try await reader.messages(MessageQuery()) }
        await expect(.closed) { try await reader.reclaim() }
    }

    /// Names that mean something in the names by which SQLite is told how to open a file.
    @Test(arguments: ["q?mode=rwc#x.db", "100%41.db", "ü n.db"]) func everyNameIsAFilesName(name: String) async throws {
        let store = try await SQLiteStore.openWithJobs(folder.file(name))
        try await store.put(.text("it"))
        try await store.close()
        let reader = try await SQLiteReader.open(path: folder.file(name))
        #expect(try await texts(reader) == ["it"])
        try await reader.close()
    }

    @Test func itSeesWhatOthersWriteMeanwhile() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await texts(reader) == [])
        for round in 1...3 {
            let store = try await SQLiteStore.open(path: path)
            try await store.put(.text("\(round)"))
            #expect(try await texts(reader) == (1...round).map(String.init), "while it is open")
            try await store.close()
            #expect(try await texts(reader) == (1...round).map(String.init), "after it was closed")
        }
        try await reader.close()
    }

    @Test func everyCallThatWritesIsRefused() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let reader = try await SQLiteReader.open(path: path)
        let lease = Lease(sequence: .init(1), token: .init(rawValue: 1))
        await expect(.readOnly) { try await reader.enqueue([.text("it")], to: .jobs, durability: .powerLoss) }
        await expect(.readOnly) { try await reader.claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(1))) }
        await expect(.readOnly) { try await reader.settle([Settlement(lease, .done)]) }
        await expect(.readOnly) { try await reader.extend([lease], by: .seconds(1)) }
        await expect(.readOnly) { try await reader.reclaim() }
        await expect(.readOnly) {
            try await reader.append([.text("it")], to: .jobs, unless: nil, durability: .powerLoss)
        }
        await expect(.readOnly) { try await reader.configure(.jobs, .pause) }
        await expect(.readOnly) { try await reader.apply(.cancel, to: .sequences([])) }
        await expect(.readOnly) { try await reader.prune(PruneRequest()) }
        try await reader.close()
    }

    // MARK: Which files

    private func versionInFile() async throws -> Int {
        try await DatabaseQueue(path: path).read { try SchemaMigrator.version(of: $0) }
    }

    private func makeFile(version: Int) async throws {
        try await makeOlderFile(version: version, at: path)
        if version > 0 { try await ForeignProgram(path).run("INSERT INTO penstock_queue (name) VALUES ('jobs')") }
    }

    /// Reading asks for nothing that an older file, which it does not refuse, has not.
    @Test(arguments: SchemaMigrator.oldestReadable...SchemaMigrator.newest)
    func aFileWithAnOlderSchemaIsReadAsItIs(version: Int) async throws {
        try await makeFile(version: version)
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await reader.messages(MessageQuery(withPayload: true, withAttempts: true)).isEmpty)
        for state in MessageState.allCases {
            #expect(try await reader.messages(MessageQuery(states: [state], since: Timestamp(microseconds: 1))).isEmpty)
        }
        let filter = MessageFilter(uniqueKey: "k", headers: ["n": "1"], payloadContains: "p", errorContains: "e")
        #expect(try await reader.messages(MessageQuery(matching: filter)).isEmpty)
        #expect(try await reader.deadGroups(DeadGroupQuery()).groups.isEmpty)
        #expect(try await reader.count(.queue(.jobs, states: [.dead]), for: .redrive) == 0)
        let status = try await reader.status(of: .jobs)
        #expect(status.queues.count == 1 && status.move == nil)
        #expect(try await reader.storeMove() == nil)
        #expect(try await reader.log(LogQuery(queue: .jobs, .last(1))).records.isEmpty)
        #expect(try await reader.schedules(nil).isEmpty)
        let nightly = try ScheduleName("nightly")
        _ = await expect(.unknownSchedule) { try await reader.schedules(nightly) }
        try await reader.close()
        #expect(try await versionInFile() == version)
    }

    @Test(arguments: 1..<SchemaMigrator.oldestReadable)
    func aFileThatIsTooOldIsRefusedWithWhatToDo(version: Int) async throws {
        try await makeFile(version: version)
        let error = await expect(.olderSchema) { try await SQLiteReader.open(path: path) }
        #expect(error?.message.contains("run `penstock migrate`") == true)
        #expect(try await versionInFile() == version)
    }

    /// Another process may be making it: to programs that look it is not there yet.
    @Test func aFileWithoutASchemaIsNoFile() async throws {
        try await makeFile(version: 0)
        let error = await expect(.notFound) { try await SQLiteReader.open(path: path) }
        #expect(error?.message.contains("`penstock queue create` makes") == true)
        #expect(try await versionInFile() == 0)
    }

    /// A program that must not change the file's schema says so.
    @Test func aFileIsMigratedOnlyIfItMayBe() async throws {
        try await makeFile(version: SchemaMigrator.newest - 1)
        let error = await expect(.olderSchema) {
            try await SQLiteStore.open(path: path, options: .init(migration: .refuse))
        }
        #expect(error?.message.contains("run `penstock migrate`") == true)
        #expect(try await versionInFile() == SchemaMigrator.newest - 1)
        try await SQLiteStore.open(path: path).close()
        try await SQLiteStore.open(path: path, options: .init(migration: .refuse)).close()
        try await SQLiteStore.open(path: folder.file("new.db"), options: .init(migration: .refuse)).close()
    }

    /// A program that follows a log looks ten times a second.
    @Test func aFileThatNobodyWritesIsOpenedOnce() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let file = try ReadOnlyFile(path, busyMax: .seconds(1), settledSeconds: 0)
        func count() throws -> Int? { try file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM penstock_log") } }
        let first = try #require(file.still.kept)
        for _ in 1...3 { #expect(try count() == 0) }
        #expect(file.still.kept === first)
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        try await store.close()
        #expect(try count() == 1)
        #expect(file.still.kept !== first && file.still.kept != nil)
        try file.close()
        #expect(file.still.kept == nil)
        // One that was written to a moment ago may change again, and look the same.
        let fresh = try ReadOnlyFile(path, busyMax: .seconds(1), settledSeconds: 1_000_000)
        #expect(fresh.still.kept == nil)
        try fresh.close()
    }

    /// Nobody closes the file again that a reading would leave open then.
    @Test func aReadingThatIsUnderWayAtTheEndLeavesNothingOpen() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let still = StillConnection(settledSeconds: 0)
        let stillness = try #require(FileStillness(path))
        let name = FileStillness.immutable(path)
        let configuration = Configuration("reader", readonly: true)
        try still.read(stillness, opening: { try DatabaseQueue(path: name, configuration: configuration) }) { _ in
            try still.close()
        }
        #expect(still.kept == nil)
    }

    @Test func otherFilesAreRefusedAsForWriting() async throws {
        await expect(.notFound) { try await SQLiteReader.open(path: path) }
        await expect(.notADatabase) { try await SQLiteReader.open(path: folder.path) }
        try Data("this is not a database, and long enough to be one".utf8).write(to: URL(fileURLWithPath: path))
        await expect(.notADatabase) { try await SQLiteReader.open(path: path) }
        try FileManager.default.removeItem(atPath: path)
        try await DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE person (name TEXT)") }
        await expect(.notADatabase) { try await SQLiteReader.open(path: path) }
        #expect(try files() == ["queue.db"])
    }

    /// Once the file is another one, or none, what was read before says nothing any more.
    @Test(arguments: [false, true]) func aReplacedFileIsNotReadOn(isBesideWriter: Bool) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        if !isBesideWriter { try await store.close() }
        let reader = try await SQLiteReader.open(path: path)
        #expect(try await texts(reader) == [])
        try await SQLiteStore.openWithJobs(folder.file("other.db")).close()
        try FileManager.default.moveItem(atPath: path, toPath: folder.file("old.db"))
        let error = await expect(.fileReplaced) { try await reader.status(of: nil) }
        #expect(error?.message.contains("-wal") == isBesideWriter, "\(String(describing: error))")
        try FileManager.default.moveItem(atPath: folder.file("other.db"), toPath: path)
        await expect(.fileReplaced) { try await reader.status(of: nil) }
        if isBesideWriter { await expect(.fileReplaced) { try await store.status(of: nil) } }
        try await reader.close()
        if isBesideWriter { try await store.close() }
    }

    @Test func aTaskThatIsCancelledReadsNothing() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let reader = try await SQLiteReader.open(path: path)
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await reader.status(of: nil)
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await reader.close()
    }

    @Test func anApplicationsPoolIsReadAndLeftOpen() async throws {
        let pool = try DatabasePool(path: path)
        await expect(.notFound) { try await SQLiteReader.open(pool) }
        try await SQLiteStore.open(pool: pool).close()
        let reader = try await SQLiteReader.open(pool)
        #expect(try await reader.status(of: nil).queues.isEmpty)
        try await reader.close()
        await expect(.closed) { try await reader.status(of: nil) }
        #expect(try await versionInFile() == SchemaMigrator.newest)
    }
}
