import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Somebody removes what SQLite has beside a file, while it is open.
@Suite(.timeLimit(.minutes(5))) struct OpenCompanionsTests {
    private let folder = TemporaryFolder()

    @Test(arguments: ["-wal", "-shm"], [false, true])
    func nobodyGoesOnWithoutThem(end: String, isReplaced: Bool) async throws {
        let path = folder.file("queue.db")
        let store = try await SQLiteStore.open(path: path)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let receipt = try await store.put(.text("kept"), to: .jobs, durability: .powerLoss)
        let reader = try await SQLiteReader.open(path: path)
        _ = try await reader.status(of: .jobs)
        if isReplaced {
            try FileManager.default.copyItem(atPath: path + end, toPath: path + ".copy")
            #expect(rename(path + ".copy", path + end) == 0)
        } else {
            #expect(unlink(path + end) == 0)
        }
        let error = await expect(.fileReplaced) { try await store.put(.text("lost"), to: .jobs) }
        #expect(error?.message.hasPrefix(path + end) == true)
        await expect(.fileReplaced) { try await store.status(of: .jobs) }
        await expect(.fileReplaced) { try await reader.status(of: .jobs) }
        await expect(.fileReplaced) { try await store.reclaim() }
        try? await reader.close()
        try? await store.close()
        if end == "-wal" { return }
        // What was acknowledged is in the log, and the next program finds it.
        let next = try await SQLiteStore.open(path: path)
        #expect(try await next.messages(MessageQuery(limit: 9)).records.map(\.sequence) == [receipt.sequence])
        #expect(try await next.put(.text("next"), to: .jobs).sequence > receipt.sequence)
        try await next.close()
    }

    /// A folder that may not be entered for a moment, or a disk that does not answer, says nothing of the files that are open.
    @Test func aPlaceThatCannotBeLookedAtIsNotOneWithoutThem() async throws {
        let (place, aside) = (folder.file("place"), folder.file("aside"))
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let store = try await SQLiteStore.openWithJobs(place + "/queue.db")
        try await store.put(.text("before"))
        #expect(try await store.texts() == ["before"])
        // A link that leads to itself: no mode of a folder keeps root out.
        #expect(rename(place, aside) == 0)
        #expect(symlink(place, place) == 0)
        try await store.put(.text("meanwhile"))
        #expect(try await store.texts() == ["before", "meanwhile"])
        _ = try await store.reclaim()
        #expect(unlink(place) == 0)
        // Then there is none.
        await expect(.fileReplaced) { try await store.put(.text("lost")) }
        #expect(rename(aside, place) == 0)
        #expect(try await store.texts() == ["before", "meanwhile"])
        try await store.close()
    }

    /// The next program makes another folder, and takes the workers whose locks were in the old one for dead.
    @Test(arguments: ["", "/writer-lock"], [false, true])
    func nobodyGoesOnWithoutTheFolder(name: String, isMoved: Bool) async throws {
        let path = folder.file("queue.db")
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let message = try #require(try await store.take().first)
        let lost = path + "-penstock" + name
        if isMoved {
            try FileManager.default.moveItem(atPath: lost, toPath: folder.file("elsewhere"))
        } else {
            try FileManager.default.removeItem(atPath: lost)
        }
        let next = try await SQLiteStore.open(path: path)
        let error = await expect(.fileReplaced) { try await store.settle([Settlement(message.lease, .done)]) }
        #expect(error?.message.hasPrefix(path + "-penstock/writer-lock was removed or replaced") == true)
        await expect(.fileReplaced) { try await store.put(.text("lost")) }
        await expect(.fileReplaced) { try await store.status(of: .jobs) }
        try? await store.close()
        try await next.put(.text("next"))
        #expect(try await next.texts() == ["it", "next"])
        try await next.close()
    }
}
