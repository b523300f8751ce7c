import CPenstockTests
import Foundation
import GRDB
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// Apple's SQLite keeps the write-ahead log and its index when the last connection closes, unless it is told otherwise.
@Suite(.timeLimit(.minutes(5))) struct KeptLogTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("kept-log.db") }
    private var backup: String { folder.file("backup.db") }
    private var companions: [String] {
        ["-wal", "-shm"].filter { FileManager.default.fileExists(atPath: path + $0) }
    }

    init() { penstock_keep_logs() }

    @Test func theLastStoreToCloseTakesTheLogAway() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
        #expect(companions == [])
    }

    @Test func soDoTheDoctorAndARepair() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        _ = try await SQLiteStore.inspectHealth(path: path)
        #expect(companions == [])
        _ = try await SQLiteStore.repair(path: path)
        #expect(companions == [])
    }

    /// An application's pool closes the file as it likes.
    private func leaveEmptyLog() async throws {
        var configuration = Configuration()
        // Apple's SQLite has a bound by itself, and cuts the log when it keeps it.
        configuration.prepareDatabase { database in
            if !database.configuration.readonly { try database.execute(sql: "PRAGMA journal_size_limit = 32768") }
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await store.put(.text("first"))
        _ = try await SQLiteStore.backup(of: path, to: backup, replacing: false)
        try await store.put(.text("second"))
        try await store.close()
        pool.invalidateReadOnlyConnections()
        try pool.close()
        try #require(companions == ["-wal", "-shm"] && FileIdentity.size(of: path + "-wal") == 0)
    }

    private func texts() async throws -> [String] {
        let store = try await SQLiteStore.open(path: path)
        let texts = try await store.texts()
        try await store.close()
        return texts
    }

    /// Nobody had it open, and nothing of it is in the log.
    @Test func aFileThatTookTheNameIsOpenedBesideAnEmptyLog() async throws {
        try await leaveEmptyLog()
        try FileManager.default.moveItem(atPath: path, toPath: folder.file("old.db"))
        try FileManager.default.moveItem(atPath: backup, toPath: path)
        #expect(try await texts() == ["first"])
        #expect(companions == [])
    }

    @Test func aBackupIsRestoredBesideAnEmptyLog() async throws {
        try await leaveEmptyLog()
        try FileManager.default.moveItem(atPath: path, toPath: folder.file("old.db"))
        _ = try await SQLiteStore.restore(from: backup, to: path)
        #expect(try await texts() == ["first"])
        #expect(companions == [])
    }
}
