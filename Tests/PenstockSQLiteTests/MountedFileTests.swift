import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A database that was mounted by itself, as into a container: SQLite's log and the workers' locks lie beside its other name.
@Suite(.enabled(if: BoundFile.canBeMade, "This machine lets nobody mount a file."), .timeLimit(.minutes(5)))
struct MountedFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var place: String { folder.file("place.db") }
    /// What SQLite has left beside the place.
    private var companions: [String] {
        ["-wal", "-shm"].filter { FileManager.default.fileExists(atPath: place + $0) }
    }

    @Test func aFileThatIsMountedByItselfIsLookedAtAndNoMore() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
        let mount = try BoundFile(path, at: place)
        let error = await expect(.invalidInput) { try await SQLiteStore.open(path: place) }
        #expect(error?.message.hasPrefix("\(place) is mounted by itself") == true)
        await expect(.invalidInput) { try await SQLiteStore.repair(path: place) }
        let reader = try await SQLiteReader.open(path: place)
        #expect(try await reader.messages(MessageQuery()).count == 1, "Looking does no harm.")
        try await reader.close()
        #expect(!FileManager.default.fileExists(atPath: place + "-penstock"))
        withExtendedLifetime(mount) {}
        try await SQLiteStore.open(path: path).close()
    }

    /// A log that is begun beside the wrong name and left there is written into the file when it is next opened by that name.
    @Test func aRefusedOpeningLeavesNothingBesideTheFile() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let mount = try BoundFile(path, at: place)
        for _ in 1...2 { await expect(.invalidInput) { try await SQLiteStore.open(path: place) } }
        #expect(companions == [])
        withExtendedLifetime(mount) {}
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    /// What a program writes that has it open lies in a log beside the other name.
    @Test func aFileThatIsAtWorkElsewhereIsNotLookedAt() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let mount = try BoundFile(path, at: place)
        let error = await expect(.invalidInput) { try await SQLiteReader.open(path: place) }
        #expect(error?.message.hasPrefix("\(place) is mounted by itself") == true)
        await expect(.invalidInput) { try await SQLiteStore.inspectHealth(path: place) }
        await expect(.invalidInput) {
            try await SQLiteStore.backup(of: place, to: folder.file("copy.db"), replacing: false)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("copy.db")))
        #expect(try await store.texts() == ["it"], "The look has taken no lock from the store.")
        try await store.close()
        try await SQLiteReader.open(path: place).close()
        withExtendedLifetime(mount) {}
    }

    @Test func aReaderThatWasThereFirstIsToldAsWell() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let mount = try BoundFile(path, at: place)
        let reader = try await SQLiteReader.open(path: place)
        #expect(try await reader.messages(MessageQuery()).isEmpty)
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        await expect(.invalidInput) { try await reader.messages(MessageQuery()) }
        try await store.close()
        #expect(try await reader.messages(MessageQuery()).count == 1)
        try await reader.close()
        withExtendedLifetime(mount) {}
    }

    /// They make nothing beside that name, and take no lock that the next look would meet.
    @Test func looksDoNotKeepEachOtherOut() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let mount = try BoundFile(path, at: place)
        let reader = try await SQLiteReader.open(path: place)
        for _ in 1...2 {
            let report = try await SQLiteStore.inspectHealth(path: place)
            #expect(report.findings.allSatisfy { $0.severity != .error }, "\(report.findings)")
            #expect(try await reader.messages(MessageQuery()).isEmpty)
        }
        try await reader.close()
        #expect(companions == [])
        withExtendedLifetime(mount) {}
    }

    /// A process that opens the file by the mounted folder finds what lies beside it.
    @Test func aFileInAFolderThatIsMountedIsUsed() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let place = folder.file("place")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let mount = try BoundFile(folder.path, at: place)
        try await SQLiteStore.open(path: place + "/queue.db").close()
        withExtendedLifetime(mount) {}
    }
}
