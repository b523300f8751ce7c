import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// The folder that the processes of one machine share for a store: whose it has to be, and what becomes of it.
extension HostTests {
    /// Where the folder lies. When this returns, the test has none.
    private func folderPath() throws -> String {
        let host = try #require(SameHost(server, address))
        return host.folder.folder.path
    }

    @Test func theFolderGoesWithTheLastStore() async throws {
        let (first, second) = (try await PostgresStore.open(url: url), try await PostgresStore.open(url: url))
        let folder = try folderPath()
        try await first.close()
        #expect(FileManager.default.fileExists(atPath: folder))
        try await second.close()
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    /// A folder that is there with all its files at once: the stores of other tests remove folders that nobody uses at any time.
    private func left(at path: String, _ names: [String]) throws {
        let made = FileManager.default.temporaryDirectory.appending(path: "left-\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: made, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for name in names { try Data("another process's".utf8).write(to: URL(filePath: "\(made)/\(name)")) }
        try FileManager.default.moveItem(atPath: made, toPath: path)
    }

    /// Fifty processes that start at once put the one aside that has the folders in hand. Without its folder a process hears the server
    /// by itself for as long as it runs.
    @Test func foldersThatAnotherProcessHasInHandAreWaitedFor() throws {
        let first = try HostFolder(of: "first \(UUID())")
        let lock = open(
            URL(filePath: first.folder.path).deletingLastPathComponent().path + "/lock", O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        var pauses = 0
        let second = try HostFolder(of: "second \(UUID())") {
            pauses += 1
            if pauses == 1000 { _ = flock(lock, LOCK_UN) }
        }
        #expect(pauses >= 1000)
        second.leave()
        first.leave()
    }

    /// A folder may outlive a power cut, and the clock since the start of the machine does not: for days nobody would look.
    @Test func momentsThatAreTooFarAheadAreNone() async throws {
        let host = try HostFolder(of: "restarted \(UUID())")
        let listener = try HostListener(in: host.folder)
        try await eventually {
            listener.sayAlone()
            listener.sayLooked(for: .seconds(1))
            return listener.isAlone && listener.hasLooked
        }
        let file = try FileHandle(forUpdating: URL(filePath: host.folder.file("listener-2")))
        for place in [64, 80] as [UInt64] {
            try file.seek(toOffset: place)
            try file.write(contentsOf: withUnsafeBytes(of: UInt64.max / 2) { Data($0) })
        }
        try file.close()
        #expect(!listener.isAlone && !listener.hasLooked && listener.hasEverLooked)
        host.leave()
    }

    @Test func aFolderThatADeadProcessHasLeftIsRemoved() async throws {
        let folder = try folderPath()
        try left(at: folder, ["store"])
        // A few of all that are there at a time.
        try await eventually {
            let other = try HostFolder(of: "none \(UUID())")
            other.leave()
            return !FileManager.default.fileExists(atPath: folder)
        }
    }

    /// Whatever lies where the folders do, nothing that is not Penstock's is removed, and no link is followed.
    @Test func nothingElseIsRemoved() async throws {
        let folder = try folderPath()
        let own = URL(filePath: folder).deletingLastPathComponent().path
        let elsewhere = FileManager.default.temporaryDirectory.appending(path: "elsewhere-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        let link = own + "/link-\(UUID())"
        let strange = own + "/strange-\(UUID())"
        defer { for path in [link, strange] { try? FileManager.default.removeItem(atPath: path) } }
        let names = ["precious", "writers-4", "store"]
        for place in [elsewhere, strange] { try left(at: place, names) }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: elsewhere)
        // A few of all that are there at a time.
        try await eventually {
            try HostFolder(of: "none \(UUID())").leave()
            return !FileManager.default.fileExists(atPath: strange + "/writers-4")
        }
        #expect(FileManager.default.fileExists(atPath: strange + "/precious"))
        for name in names {
            #expect(FileManager.default.fileExists(atPath: "\(elsewhere)/\(name)"))
        }
    }

    /// A process of another user that has prepared the folder reads what passes through it, and can stop this user's processes.
    @Test(arguments: [true, false])
    func aFolderThatIsOpenToOthersIsNotUsed(isLink: Bool) async throws {
        let folder = try folderPath()
        if isLink {
            try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: "/tmp")
        } else {
            guard geteuid() == 0 else { try Test.cancel("Only root can make a folder that is another user's.") }
            // Elsewhere, until it is: what is this user's, and empty, another test's process may be about to remove.
            let place = URL(filePath: folder).deletingLastPathComponent().deletingLastPathComponent()
            let prepared = place.appending(path: "prepared-\(UUID())").path
            try FileManager.default.createDirectory(
                atPath: prepared, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o777, .ownerAccountID: 65533])
            try FileManager.default.moveItem(atPath: prepared, toPath: folder)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(SameHost(server, address) == nil)
        let store = try await PostgresStore.open(url: url)
        _ = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        try await store.close()
    }
}
