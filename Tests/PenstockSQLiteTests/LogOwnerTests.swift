import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// A write-ahead log is read as that of the file that it belongs to, and of no other one that has got its name.
@Suite(.timeLimit(.minutes(5))) struct LogOwnerTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var backup: String { folder.file("backup.db") }
    private let files = FileManager.default

    /// A store that has one message which is in its log alone, and a backup of it from before.
    private func storeWithLog() async throws -> SQLiteStore {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("first"))
        _ = try await SQLiteStore.backup(of: path, to: backup, replacing: false)
        try await store.put(.text("second"))
        return store
    }

    private func replace() throws {
        try files.moveItem(atPath: path, toPath: folder.file("old.db"))
        try files.moveItem(atPath: backup, toPath: path)
    }

    private func bytes(_ end: String = "") throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path + end)) }

    private func texts(_ path: String) async throws -> [String] {
        let reader = try await SQLiteReader.open(path: path)
        let records = try await reader.messages(MessageQuery(withPayload: true))
        try await reader.close()
        return records.compactMap { $0.payload.map { String(decoding: $0, as: UTF8.self) } }.sorted()
    }

    @Test func aFileThatTookTheNameIsNotOpened() async throws {
        let store = try await storeWithLog()
        try replace()
        let (file, log) = (try bytes(), try bytes("-wal"))
        for attempt in [
            { _ = try await SQLiteStore.open(path: path) }, { _ = try await SQLiteReader.open(path: path) },
            { _ = try await SQLiteStore.inspectHealth(path: path) }, { _ = try await SQLiteStore.repair(path: path) },
            { _ = try await SQLiteStore.backup(of: path, to: backup, replacing: false) },
        ] as [() async throws -> Void] {
            let error = await expect(.fileReplaced) { try await attempt() }
            #expect(error?.message.contains("move \(path)-wal and \(path)-shm away") == true)
        }
        await expect(.fileReplaced) { try await store.put(.text("third")) }
        #expect(try bytes() == file && bytes("-wal") == log, "Nothing is changed.")
        // As the sentence says.
        for end in ["-wal", "-shm"] { try files.moveItem(atPath: path + end, toPath: folder.file("old.db") + end) }
        try await SQLiteStore.open(path: path).close()
        #expect(try await texts(path) == ["first"])
        #expect(try await texts(folder.file("old.db")) == ["first", "second"])
        withExtendedLifetime(store) {}
    }

    /// A tool has put all of the log into the file that was there.
    @Test func alsoAnEmptyLogIsNamed() async throws {
        let store = try await storeWithLog()
        try await ForeignProgram(path).run("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try bytes("-wal").isEmpty)
        try replace()
        let error = await expect(.fileReplaced) { _ = try await SQLiteReader.open(path: path) }
        #expect(error?.message.contains("move \(path)-wal and \(path)-shm away") == true)
        // As the sentence says.
        for end in ["-wal", "-shm"] { try files.moveItem(atPath: path + end, toPath: folder.file("old.db") + end) }
        try await SQLiteStore.open(path: path).close()
        #expect(try await texts(path) == ["first"])
        withExtendedLifetime(store) {}
    }

    /// An application's pool has opened the log before. Penstock adds nothing to it.
    @Test func anApplicationsPoolIsNotUsed() async throws {
        let store = try await storeWithLog()
        try replace()
        let pool = try DatabasePool(path: path)
        await expect(.fileReplaced) { _ = try await SQLiteStore.open(pool: pool) }
        withExtendedLifetime(store) {}
    }

    /// A store that waited for a lock as it opened has another file open than the one that has the name by then.
    @Test func whatIsWrittenDownIsTheFileThatIsOpen() async throws {
        let store = try await storeWithLog()
        let record = path + "-penstock/log-owner"
        let before = try Data(contentsOf: URL(fileURLWithPath: record))
        let folder = store.folder
        func requireOpen() throws {
            try store.access.pool.writeWithoutTransaction { try OpenFile.requireStill($0, at: path) }
        }
        try LogOwner.record(at: path, in: folder, requireOpen: requireOpen)
        try replace()
        await expect(.fileReplaced) { try LogOwner.record(at: path, in: folder, requireOpen: requireOpen) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: record)) == before)
    }

    @Test func theFileThatComesBackHasItsLog() async throws {
        let store = try await storeWithLog()
        try replace()
        await expect(.fileReplaced) { _ = try await SQLiteStore.open(path: path) }
        try files.removeItem(atPath: path)
        try files.moveItem(atPath: folder.file("old.db"), toPath: path)
        try await SQLiteStore.open(path: path).close()
        #expect(try await texts(path) == ["first", "second"])
        withExtendedLifetime(store) {}
    }

    /// A copy of all that lies there has another file, and another log.
    @Test func aCopyWithItsLogIsOpened() async throws {
        let store = try await storeWithLog()
        let copy = folder.file("copy.db")
        for end in ["", "-wal", "-penstock"] { try files.copyItem(atPath: path + end, toPath: copy + end) }
        try await SQLiteStore.open(path: copy).close()
        #expect(try await texts(copy) == ["first", "second"])
        withExtendedLifetime(store) {}
    }

    @Test(arguments: ["", "nonsense", String(repeating: "1 ", count: 48), String(repeating: "9", count: 96)])
    func aRecordThatCannotBeReadSaysNothing(record: String) async throws {
        let store = try await storeWithLog()
        try await store.close()
        let file = path + "-penstock/log-owner"
        try Data(record.utf8).write(to: URL(fileURLWithPath: file))
        let next = try await SQLiteStore.open(path: path)
        #expect(try await texts(path) == ["first", "second"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count == 96, "It is written anew.")
        try await next.close()
    }
}
