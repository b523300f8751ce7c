import Foundation
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// What a store says when it may not write. Root may write anything, so these run as nobody, in a process of their own.
@Suite(.enabled(if: getuid() == 0, "Becoming another user needs root."), .timeLimit(.minutes(5)))
struct PermissionTests {
    private let folder = TemporaryFolder()

    init() throws {
        chmod(folder.path, 0o755)
    }

    private var path: String { folder.file("queue.db") }

    /// What opening `path` comes to, as an exit status: 0 when it opens and takes a message.
    private static func statusOfUsing(_ path: String) async -> Int32 {
        do {
            let store = try await SQLiteStore.openWithJobs(path)
            try await store.put(.text("it"))
            _ = try await store.take()
            try await store.close()
            return 0
        } catch let error as PenstockError {
            return error.code == .readOnly && error.message.contains(path) ? 10 : 11
        } catch {
            return 12
        }
    }

    private static func becomeNobody() {
        precondition(setgid(65534) == 0 && setuid(65534) == 0)
    }

    /// Becomes a user who belongs to the group 4711 beside a group of its own.
    private static func become(_ user: uid_t) {
        precondition(setgroups(1, [4711]) == 0 && setgid(user) == 0 && setuid(user) == 0)
    }

    /// A file that its owner has worked alone, in a folder of a group, and gives to the group then.
    private func makeFileOfAGroup(mode: mode_t) async {
        chown(folder.path, 65533, 4711)
        chmod(folder.path, 0o2770)
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65533)
            exit(await Self.statusOfUsing(path))
        }
        #expect(chown(path, 65533, 4711) == 0 && chmod(path, mode) == 0)
    }

    private func makeFile() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
    }

    @Test func aReadOnlyFileIsRefused() async throws {
        try await makeFile()
        chmod(path, 0o444)
        await #expect(processExitsWith: .exitCode(10)) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
    }

    @Test func aReadOnlyFolderIsRefused() async throws {
        try await makeFile()
        chmod(path, 0o666)
        await #expect(processExitsWith: .exitCode(10)) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
    }

    @Test func aNewFileInAReadOnlyFolderIsRefused() async throws {
        await #expect(processExitsWith: .exitCode(10)) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func aReadOnlyFileSystemIsRefused() async throws {
        try await makeFile()
        let mount = try ReadOnlyMount(folder.path)
        await expect(.readOnly) { try await SQLiteStore.open(path: path) }
        await expect(.readOnly) { try await SQLiteStore.open(path: folder.file("new.db")) }
        withExtendedLifetime(mount) {}
    }

    /// A look by root, as of an administrator's `sudo penstock status`, does not lock the owner out.
    @Test func whatRootMakesIsTheOwners() async throws {
        chmod(folder.path, 0o777)
        await #expect(processExitsWith: .success) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
        try FileManager.default.removeItem(atPath: path + "-penstock")
        let byRoot = try await SQLiteStore.open(path: path)
        _ = try await byRoot.take()
        await #expect(processExitsWith: .success) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
        try await byRoot.close()
    }

    /// Somebody who may not look at a worker's lock takes nothing from it.
    @Test func aLockThatCannotBeLookedAtIsNotADeadWorker() async throws {
        chmod(folder.path, 0o777)
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let message = try #require(try await store.take().first)
        for file in [path, path + "-wal", path + "-shm"] { chmod(file, 0o666) }
        chmod(path + "-penstock", 0o777)
        for file in ["doorbell-2", "writer-lock"] { chmod(path + "-penstock/" + file, 0o666) }
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.becomeNobody()
            guard let store = try? await SQLiteStore.open(path: path) else { exit(20) }
            let reclaimed = try? await store.reclaim()
            exit(reclaimed == Reclaimed() ? 0 : 21)
        }
        #expect(try await store.settle([Settlement(message.lease, .done)]) == [.settled(.done)])
        try await store.close()
    }

    // MARK: Reading

    /// What looking at `path` comes to, as an exit status: 0 when its one message is seen.
    private static func statusOfReading(_ path: String) async -> Int32 {
        do {
            let reader = try await SQLiteReader.open(path: path)
            let count = try await reader.messages(MessageQuery(withPayload: true)).count
            let queues = try await reader.status(of: nil).queues
            try await reader.close()
            return count == 1 && queues.count == 1 ? 0 : 20
        } catch let error as PenstockError {
            return error.code == .readOnly ? 10 : 11
        } catch {
            return 12
        }
    }

    /// Closed in good order, left with its log by a process that has ended, and beside one that has it open.
    @Test(arguments: ["closed", "with its log", "open"])
    func whatMayOnlyBeReadCanBeLookedAt(file: String) async throws {
        let isLeft = file == "with its log"
        let live = isLeft ? folder.file("live.db") : path
        let store = try await SQLiteStore.openWithJobs(live)
        try await store.put(.text("it"))
        if isLeft {
            for suffix in ["", "-wal", "-shm"] {
                try FileManager.default.copyItem(atPath: live + suffix, toPath: path + suffix)
            }
        }
        if file != "open" { try await store.close() }
        for suffix in ["", "-wal", "-shm"] { chmod(path + suffix, 0o444) }
        let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
        await #expect(processExitsWith: .success) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfReading(path))
        }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted() == before)
        if file == "open" { try await store.close() }
    }

    @Test func aReadOnlyFileSystemCanBeLookedAt() async throws {
        try await makeFile()
        let mount = try ReadOnlyMount(folder.path)
        #expect(await Self.statusOfReading(path) == 0)
        withExtendedLifetime(mount) {}
    }

    @Test func whatMayNotBeReadIsRefused() async throws {
        try await makeFile()
        chmod(path, 0o600)
        await #expect(processExitsWith: .exitCode(10)) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfReading(path))
        }
    }

    /// The folder hands its group on to new files, as a folder for several users does. The folder beside the database has
    /// to follow.
    @Test func twoUsersOfTheDatabasesGroupShareIt() async throws {
        try await makeFile()
        try FileManager.default.removeItem(atPath: path + "-penstock")
        for file in [folder.path, path] { chown(file, 65533, 4711) }
        chmod(folder.path, 0o2770)
        chmod(path, 0o660)
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65533)
            exit(await Self.statusOfUsing(path))
        }
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65534)
            exit(await Self.statusOfUsing(path))
        }
    }

    /// The owner has worked alone so far. The files beside the database follow it when the owner next opens it, or are mended.
    @Test(arguments: ["owner", "doctor"]) func aFileIsGivenToAGroupLater(_ who: String) async throws {
        await makeFileOfAGroup(mode: 0o660)
        if who == "owner" {
            await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
                Self.become(65533)
                exit(await Self.statusOfUsing(path))
            }
        } else {
            let found = try await SQLiteStore.inspectHealth(path: path).findings
            #expect(found.contains { $0.kind == .wrongFolder && $0.message.contains("by all who can open") })
            _ = try await SQLiteStore.repair(path: path)
        }
        #expect(try await SQLiteStore.inspectHealth(path: path).findings == [])
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65534)
            exit(await Self.statusOfUsing(path))
        }
    }

    /// What SQLite would make beside the file would be another user's, and the owner could write no more.
    @Test func aLookOfSomebodyWhoMayOnlyReadLeavesNothing() async throws {
        await makeFileOfAGroup(mode: 0o640)
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65534)
            let report = try await SQLiteStore.inspectHealth(path: path)
            exit(report.file.journalMode == "wal" && report.schemaVersion == report.schemaVersionKnown ? 0 : 1)
        }
        for companion in ["-wal", "-shm"] { #expect(access(path + companion, F_OK) != 0) }
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.become(65533)
            exit(await Self.statusOfUsing(path))
        }
    }

    /// The owner has let all write the file, and nothing beside it.
    @Test func aFolderThatMayNotBeWrittenIsNoReasonNotToLook() async throws {
        try await makeFile()
        chmod(path, 0o666)
        await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
            Self.becomeNobody()
            let report = try await SQLiteStore.inspectHealth(path: path)
            exit(report.file.journalMode == "wal" && report.findings.filter { $0.severity == .error }.isEmpty ? 0 : 1)
        }
    }

    /// As where the folder does not hand its group on.
    @Test func companionsThatMayNotBeWrittenAreToBlame() async throws {
        chmod(folder.path, 0o777)
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        chmod(path, 0o666)
        for companion in ["-wal", "-shm"] { chmod(path + companion, 0o600) }
        await #expect(processExitsWith: .exitCode(10)) { [path = path as String] in
            Self.becomeNobody()
            exit(await Self.statusOfUsing(path))
        }
        try await store.close()
    }
}
