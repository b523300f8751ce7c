import CPenstockTests
import Foundation
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// Apple's SQLite keeps the write-ahead log and its index when the last connection closes, unless it is told otherwise.
@Suite(.timeLimit(.minutes(5))) struct KeptLogTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("kept-log.db") }
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
}
