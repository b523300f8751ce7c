import Foundation
import GRDB
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// What another user has put in the place of what SQLite keeps beside a file is neither read nor written.
@Suite(.timeLimit(.minutes(5))) struct ForeignCompanionTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private static let isRoot = geteuid() == 0
    private static let nobody: uid_t = 65534
    private static let content = Data("what another user would have the store take".utf8)

    /// Makes a store with one message and leaves it.
    private func makeStore() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("mine"))
        try await store.close()
    }

    /// Puts a file of nobody's there, which all may write.
    private static func plant(
        _ file: String, _ bytes: Data = Self.content, group: gid_t = Self.nobody, mode: mode_t = 0o666
    ) {
        let isMade = FileManager.default.createFile(atPath: file, contents: bytes)
        #expect(isMade && chown(file, nobody, group) == 0 && chmod(file, mode) == 0)
    }

    private func expectRefusal(
        _ file: String, _ why: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("It was not refused.", sourceLocation: sourceLocation)
        } catch let error as PenstockError {
            #expect(error.code == .readOnly, sourceLocation: sourceLocation)
            #expect(
                error.message
                    == "\(file) \(why), so others could read or change the messages in it; stop the programs that use the database, "
                    + "and find out why.", sourceLocation: sourceLocation)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
        }
    }

    @Test(.enabled(if: isRoot, "Only root gives files away."), arguments: ["-wal", "-shm", "-journal"])
    func aStoreIsNotOpenedBesideIt(end: String) async throws {
        try await makeStore()
        let (file, why) = (path + end, "belongs to user \(Self.nobody)")
        Self.plant(file)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        await expectRefusal(file, why) { _ = try await SQLiteStore.open(path: path) }
        await expectRefusal(file, why) { _ = try await SQLiteStore.repair(path: path) }
        // Nothing is read of an index alone.
        if end != "-shm" {
            await expectRefusal(file, why) { _ = try await SQLiteReader.open(path: path) }
            await expectRefusal(file, why) {
                _ = try await SQLiteStore.backup(of: path, to: folder.file("backup.db"), replacing: false)
            }
        }
        let findings = try await SQLiteStore.inspectHealth(path: path).findings
        #expect(findings.map(\.kind) == [.wrongFolder])
        #expect(findings.first?.message.hasPrefix("\(file) \(why), so others") == true, "\(findings)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Self.content)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        unlink(file)
        let store = try await SQLiteStore.open(path: path)
        #expect(try await store.texts() == ["mine"])
        try await store.close()
    }

    /// It has the file open already, and the store adds nothing.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func anApplicationsPoolIsNotUsedBesideIt() async throws {
        let pool = try DatabasePool(path: path)
        let file = path + "-journal"
        Self.plant(file)
        await expectRefusal(file, "belongs to user \(Self.nobody)") { _ = try await SQLiteStore.open(pool: pool) }
        unlink(file)
        try await SQLiteStore.open(pool: pool).close()
    }

    /// An empty log would be taken for SQLite's own, and have the first messages.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func noStoreIsMadeBesideALogThatWasThereBefore() async throws {
        Self.plant(path + "-wal", Data())
        await expectRefusal(path + "-wal", "belongs to user \(Self.nobody)") {
            _ = try await SQLiteStore.open(path: path)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: ["-wal", "-shm", "-journal"]) func aLinkIsNotFollowed(end: String) async throws {
        try await makeStore()
        let victim = folder.file("victim")
        try Self.content.write(to: URL(fileURLWithPath: victim))
        #expect(symlink(victim, path + end) == 0)
        await expectRefusal(path + end, "is a link") { _ = try await SQLiteStore.open(path: path) }
        unlink(path + end)
        // A file of one's own that is known by another name.
        #expect(link(victim, path + end) == 0)
        await expectRefusal(path + end, "has another name as well") { _ = try await SQLiteStore.open(path: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Self.content)
    }

    /// It is made between the look before SQLite opens the file and what SQLite does then.
    @Test(.enabled(if: isRoot, "Only root gives files away."))
    func whatIsPutThereMeanwhileIsSeen() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("mine"))
        await expectRefusal(path + "-journal", "belongs to user \(Self.nobody)") {
            _ = try ReadOnlyFile(path, busyMax: .zero) { [path = path as String] _ in Self.plant(path + "-journal") }
        }
        unlink(path + "-journal")
        try await store.close()
    }

    /// Users of a group that may write the file have it open by turns, and what SQLite makes is each one's own.
    @Test(.enabled(if: isRoot, "Only root gives files away."), arguments: ["-wal", "-shm"])
    func whatAUserOfTheFilesGroupHasMadeIsUsed(end: String) async throws {
        try await makeStore()
        #expect(chown(path, 0, 4711) == 0 && chmod(path, 0o660) == 0)
        Self.plant(path + end, Data(), group: 4711, mode: 0o660)
        let store = try await SQLiteStore.open(path: path)
        #expect(try await store.texts() == ["mine"])
        try await store.close()
        // One that may only read the file makes nothing beside it.
        chmod(path, 0o640)
        Self.plant(path + end, Data(), group: 4711, mode: 0o660)
        await expectRefusal(path + end, "belongs to user \(Self.nobody)") {
            _ = try await SQLiteStore.open(path: path)
        }
    }

    /// What root and the file's owner have made, each may go on with.
    @Test(.enabled(if: isRoot, "Only root gives files away."), arguments: [0, nobody])
    func whatRootOrTheOwnerHasMadeIsUsed(maker: uid_t) async throws {
        try await makeStore()
        #expect(chown(path, Self.nobody, Self.nobody) == 0)
        for end in ["-wal", "-shm"] {
            Self.plant(path + end, Data(), mode: 0o600)
            #expect(chown(path + end, maker, maker) == 0)
        }
        let store = try await SQLiteStore.open(path: path)
        #expect(try await store.texts() == ["mine"])
        try await store.close()
    }
}
