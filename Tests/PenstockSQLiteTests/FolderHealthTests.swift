import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// The folder beside a database, as an inspection sees it and a repair puts it in order.
@Suite(.timeLimit(.minutes(5))) struct FolderHealthTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var side: String { path + "-penstock" }
    private static let isRoot = geteuid() == 0
    private static let nobody: uid_t = 65534

    init() async throws {
        try await SQLiteStore.openWithJobs(path).close()
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path).findings
    }

    private func repairs(dryRun: Bool = false) async throws -> [String] {
        try await SQLiteStore.repair(path: path, dryRun: dryRun).repairs.map(\.message)
    }

    /// Expects one finding, which a dry run and then a repair say that they mend, and that is gone then.
    private func expectMended(_ file: String, _ what: String, _ done: String) async throws {
        let found = try await findings()
        #expect(found.map(\.kind) == [.wrongFolder])
        #expect(found.first?.severity == .warning)
        #expect(found.first?.message.hasPrefix("\(file) \(what)") == true, "\(found)")
        #expect(try await repairs(dryRun: true) == ["\(file) was \(done)."])
        #expect(try await findings() == found, "A dry run changes nothing.")
        #expect(try await repairs() == ["\(file) was \(done)."])
        #expect(try await findings() == [])
        #expect(try await repairs() == [])
        // The store is used as before.
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        try await store.close()
    }

    @Test func aFolderInOrderOrNoneIsWell() async throws {
        #expect(try await findings() == [])
        try FileManager.default.removeItem(atPath: side)
        #expect(try await findings() == [])
        #expect(!FileManager.default.fileExists(atPath: side), "An inspection makes nothing.")
    }

    /// The locks by which others see that the worker lives are gone with it.
    @Test func aFolderThatIsGoneUnderAWorkerIsSaid() async throws {
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        _ = try await store.take()
        try FileManager.default.removeItem(atPath: side)
        let found = try await findings().filter { $0.kind == .wrongFolder }
        #expect(found.map(\.severity) == [.warning])
        #expect(
            found.first?.message.hasPrefix("\(side) is missing, and with it the lock of 1 worker") == true, "\(found)")
        #expect(!FileManager.default.fileExists(atPath: side), "An inspection makes nothing.")
        try? await store.close()
    }

    @Test(arguments: ["", "/writer-lock", "/writers-4", "/doorbell-2"])
    func whatOthersCanUseIsNarrowed(name: String) async throws {
        chmod(side + name, 0o777)
        try await expectMended(
            side + name, "can be used by users who cannot open the database", "given the database's owner and mode")
        #expect(try mode(of: side + name) == (name.isEmpty ? 0o700 : 0o600))
    }

    /// What was found may have been put elsewhere, and something else in its place, before it is mended.
    @Test(arguments: ["", "/writer-lock"])
    func whatIsPutInItsPlaceIsNotTouched(name: String) async throws {
        chmod(side + name, 0o777)
        let inspection = FolderInspection(SharedFolder(existingBesideDatabaseAt: path))
        let faults = inspection.faults()
        let fault = try #require(faults.first)
        #expect(faults.map(\.path) == [side + name])
        let other = folder.file("other")
        try FileManager.default.moveItem(atPath: side + name, toPath: other)
        chmod(other, 0o777)
        try FileManager.default.createSymbolicLink(atPath: side + name, withDestinationPath: other)
        #expect { try inspection.mend(fault) } throws: { error in
            (error as? PenstockError)?.message.contains("is a link") == true
        }
        #expect(try mode(of: other) == 0o777)
    }

    /// Messages lie there, as they do in the file.
    @Test(arguments: ["-wal", "-shm"]) func aLogThatOthersCanReadIsNarrowed(end: String) async throws {
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("secret"))
        chmod(path + end, 0o644)
        try await expectMended(
            path + end, "can be used by users who cannot open the database", "given the database's owner and mode")
        #expect(try mode(of: path + end) == 0o600)
        try await store.close()
    }

    @Test func aLogWithAnotherNameIsSaidAndLeftAsItIs() async throws {
        let store = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        #expect(link(path + "-wal", folder.file("other")) == 0)
        let found = try await findings()
        #expect(found.map(\.kind) == [.wrongFolder])
        #expect(found.first?.severity == .error)
        #expect(
            found.first?.message
                == "\(path)-wal has another name as well, so others could read or change the messages in it; stop the programs "
                + "that use the database, and find out why.")
        #expect(try await repairs() == [])
        #expect(try await findings() == found)
        try await store.close()
    }

    /// As after a restore by root of what was another user's.
    @Test(
        .enabled(if: isRoot, "Only root gives files away."),
        arguments: ["", "/writer-lock", "/writers-4", "/log-owner"])
    func whatTheDatabasesOwnerCannotUseIsGivenToThem(name: String) async throws {
        chown(path, Self.nobody, Self.nobody)
        for file in ["", "/writer-lock", "/writers-4", "/doorbell-2", "/log-owner"] where file != name {
            chown(side + file, Self.nobody, Self.nobody)
        }
        try await expectMended(
            side + name, "cannot be used by all who can open the database", "given the database's owner and mode")
        var status = stat()
        #expect(lstat(side + name, &status) == 0)
        #expect(status.st_uid == Self.nobody)
    }

    @Test(arguments: [WriterSlots.layout, DoorbellBoard.layout].map(\.fileName))
    func aDamagedFileIsMadeAnew(name: String) async throws {
        let file = try FileHandle(forUpdating: URL(filePath: "\(side)/\(name)"))
        try file.write(contentsOf: Data("something else".utf8))
        try file.close()
        try await expectMended("\(side)/\(name)", "is damaged", "made anew")
    }

    @Test func aFileThatWasCutIsMadeAnew() async throws {
        #expect(truncate("\(side)/writers-4", 4096) == 0)
        try await expectMended("\(side)/writers-4", "is damaged", "made anew")
    }

    /// One that is being made has room, and no header yet.
    @Test(arguments: [0, 4096, 300_000]) func aFileThatIsJustBeingMadeIsWell(size: Int) async throws {
        try Data(count: size).write(to: URL(filePath: "\(side)/writers-4"))
        chmod("\(side)/writers-4", 0o600)
        #expect(try await findings() == [])
    }

    /// Whoever put it there may have done so with a purpose.
    @Test func aLinkIsSaidAndLeftAsItIs() async throws {
        let victim = folder.file("victim")
        try Data("eleven bytes".utf8).write(to: URL(filePath: victim))
        unlink("\(side)/writers-4")
        symlink(victim, "\(side)/writers-4")
        let found = try await findings()
        #expect(found.map(\.kind) == [.wrongFolder])
        #expect(found.first?.severity == .error)
        #expect(found.first?.message.hasPrefix("\(side)/writers-4 is a link, so others could") == true, "\(found)")
        #expect(try await repairs() == [])
        #expect(try await findings() == found)
        #expect(try bytes(of: victim) == Data("eleven bytes".utf8))
    }

    /// Nobody but its maker knows what it is for.
    @Test(arguments: [S_IFDIR: "is a folder", S_IFSOCK: "is no file"])
    func whatIsNoFileIsSaidAndLeftAsItIs(kind: mode_t, what: String) async throws {
        let lock = "\(side)/writer-lock"
        unlink(lock)
        #expect((kind == S_IFDIR ? mkdir(lock, 0o700) : mknod(lock, kind | 0o600, 0)) == 0)
        let found = try await findings()
        #expect(found.map(\.kind) == [.wrongFolder])
        #expect(found.first?.severity == .error)
        #expect(found.first?.message.hasPrefix("\(lock) \(what), so others could") == true, "\(found)")
        #expect(try await repairs() == [])
        #expect(try await findings() == found)
        let error = await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        #expect(error?.message == found.first?.message)
    }

    @Test(.enabled(if: isRoot, "Only root gives files away.")) func aFolderOfAnotherUserIsSaidAndNotLookedInto()
        async throws
    {
        chown(side, Self.nobody, Self.nobody)
        chmod("\(side)/writers-4", 0o666)
        let found = try await findings()
        #expect(found.map(\.severity) == [.error])
        #expect(found.first?.message.contains("belongs to user \(Self.nobody)") == true, "\(found)")
        #expect(try await repairs() == [])
        #expect(try mode(of: "\(side)/writers-4") == 0o666)
    }

    @Test func filesOfAnotherReleaseAreNoted() async throws {
        for name in ["writers-1", "doorbell-17", "writers-4.99.new", "writers-x"] {
            try Data().write(to: URL(filePath: "\(side)/\(name)"))
        }
        let found = try await findings()
        #expect(found.map(\.severity) == [.note, .note])
        #expect(
            found.map(\.message)
                == ["doorbell-17", "writers-1"].map {
                    "\(side)/\($0) is of another release of Penstock; remove it when no program of that runs."
                })
        #expect(try await repairs() == [])
    }
}
