import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// The folder beside a database is used only by those who can open the database.
@Suite(.timeLimit(.minutes(5))) struct SharedFolderTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var side: String { path + "-penstock" }
    private static let isRoot = geteuid() == 0
    private static let nobody: uid_t = 65534

    private func mode(of file: String) -> mode_t {
        var status = stat()
        return lstat(file, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func aFolderThatAnotherUserHasPreparedIsRefused() async throws {
        mkdir(side, 0o777)
        chown(side, Self.nobody, Self.nobody)
        let error = await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        #expect(error?.message.contains("remove it") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: side).isEmpty)
        rmdir(side)
        try await SQLiteStore.openWithJobs(path).close()
    }

    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func aFileThatAnotherUserHasPreparedIsRefused() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        chown(side + "/writer-lock", Self.nobody, Self.nobody)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
    }

    /// Another user of the database's group can open it, and may have made the folder.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func aFolderOfTheDatabasesGroupIsUsed() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        chown(path, 0, 4711)
        chmod(path, 0o660)
        mkdir(side, 0o770)
        chmod(side, 0o770)
        chown(side, Self.nobody, 4711)
        try await SQLiteStore.openWithJobs(path).close()
        // A group that may not write proves nothing.
        chmod(path, 0o640)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
    }

    /// The folder that all may write gives its group to what anybody makes in it.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func aGroupThatWasHandedOnProvesNothing() async throws {
        #expect(chown(folder.path, 0, 4711) == 0 && chmod(folder.path, 0o3777) == 0)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(chown(path, 0, 4711) == 0 && chmod(path, 0o660) == 0)
        #expect(FileManager.default.createFile(atPath: path + "-wal", contents: nil))
        #expect(chmod(path + "-wal", 0o660) == 0 && chown(path + "-wal", Self.nobody, 4711) == 0)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        unlink(path + "-wal")
        mkdir(side, 0o770)
        #expect(chmod(side, 0o770) == 0 && chown(side, Self.nobody, 4711) == 0)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: side).isEmpty)
    }

    /// The users of containers are known to no system, and a volume that they share may be open to all: what strangers could do there they
    /// could do to the database itself.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func usersWhomTheSystemDoesNotKnowShareADatabase() async throws {
        #expect(chown(folder.path, 0, 4711) == 0 && chmod(folder.path, 0o2777) == 0)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(chown(path, 0, 4711) == 0 && chmod(path, 0o660) == 0)
        #expect(FileManager.default.createFile(atPath: path + "-wal", contents: nil))
        #expect(chmod(path + "-wal", 0o660) == 0 && chown(path + "-wal", 4713, 4711) == 0)
        mkdir(side, 0o770)
        #expect(chmod(side, 0o770) == 0 && chown(side, 4713, 4711) == 0)
        try await SQLiteStore.openWithJobs(path).close()
        // In a folder that is sticky they have to be known.
        #expect(chmod(folder.path, 0o3777) == 0)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
    }

    @Test(
        .enabled(if: isRoot, "Only root gives files away."),
        .enabled(if: getpwuid(nobody)?.pointee.pw_gid == nobody, "The system has to know the user."))
    func aMemberOfTheGroupIsKnownAsOne() async throws {
        #expect(chmod(folder.path, 0o1777) == 0)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(chown(path, 0, Self.nobody) == 0 && chmod(path, 0o660) == 0)
        mkdir(side, 0o770)
        #expect(chmod(side, 0o770) == 0 && chown(side, Self.nobody, Self.nobody) == 0)
        try await SQLiteStore.openWithJobs(path).close()
    }

    @Test(arguments: ["writer-lock", DoorbellBoard.layout.fileName]) func noLinkIsFollowed(name: String) async throws {
        let victim = folder.file("victim")
        try Data("eleven bytes".utf8).write(to: URL(fileURLWithPath: victim))
        mkdir(side, 0o700)
        symlink(victim, side + "/" + name)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        unlink(side + "/" + name)
        link(victim, side + "/" + name)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data("eleven bytes".utf8))
    }

    @Test func aFolderThatIsALinkIsRefused() async throws {
        let elsewhere = folder.file("elsewhere")
        mkdir(elsewhere, 0o700)
        symlink(elsewhere, side)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere).isEmpty)
    }

    /// A database that was shared and is not any more takes its companions with it.
    @Test func whatIsWiderThanTheDatabaseIsNarrowed() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        chmod(side, 0o777)
        chmod(side + "/writers-4", 0o666)
        try await SQLiteStore.openWithJobs(path).close()
        #expect(mode(of: side) == 0o700)
        #expect(mode(of: side + "/writers-4") == 0o600)
    }

    /// A file of the kernel's says that it has 4096 bytes, and gives a few: as one does that is cut between these two looks.
    @Test(.enabled(if: access("/sys/kernel/fscaps", R_OK) == 0, "The kernel has to have such a file."))
    func memoryThatIsCutAsItIsOpenedIsNoErrorOfTheDisk() throws {
        let path = "/sys/kernel/fscaps"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let layout = SharedMemory.Layout(name: "slots", version: 1, byteCount: 128)
        #expect(try !SharedMemory.prepare(descriptor, layout, path), "It is made anew.")
    }

    /// A user who can use the folder and not the database cannot have anything carried out, as nobody can use the folder
    /// then.
    @Test func noPayloadStaysInTheFolder() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        let holder = try LockHolder(path)
        let secret = "the-secret-\(UUID())"
        let calls = [store, other].map { store in Task { try await store.put(.text(secret)) } }
        try await holder.waitFor(2)
        holder.leave()
        for call in calls { _ = try await call.value }
        for file in try FileManager.default.contentsOfDirectory(atPath: side) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: side + "/" + file))
            #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
        }
        try await store.close()
        try await other.close()
    }
}
