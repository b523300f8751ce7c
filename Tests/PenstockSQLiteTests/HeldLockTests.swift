import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// SQLite's locks on a file belong to the process, and any descriptor of it that the process closes takes them along. So nothing that
/// is done beside an open store opens the file, its log or the log's index by itself.
@Suite(.enabled(if: FileManager.default.isReadableFile(atPath: "/proc/locks")), .timeLimit(.minutes(5)))
struct HeldLockTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("q.db") }

    /// This process's locks on the database and the index of its log that last for as long as a connection is open. Those of a
    /// transaction come and go meanwhile: the store's threads look at the file by themselves.
    private func locks() throws -> [String] {
        let inodes = try [path, path + "-shm"].map { path in
            var status = stat()
            try #require(stat(path, &status) == 0)
            return ":\(status.st_ino)"
        }
        let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
        return lines.compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.contains(String(getpid())),
                let file = inodes.firstIndex(where: { inode in words.contains { $0.hasSuffix(inode) } }),
                let first = Int(words[words.count - 2]), let last = Int(words[words.count - 1])
            else { return nil }
            if file == 0 { return words.dropFirst().joined(separator: " ") }
            // The byte of the index that says that it is in use; those before it are a transaction's.
            return first <= 128 && last >= 128 ? "index" : nil
        }.sorted()
    }

    private func expectKept(_ body: (SQLiteStore) async throws -> Void) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("a"))
        let before = try locks()
        #expect(before.count >= 2, "\(before)")
        try await body(store)
        #expect(try locks() == before)
        try await store.put(.text("b"))
        try await store.close()
    }

    @Test func whenItsHealthIsLookedAt() async throws {
        try await expectKept { _ in
            let report = try await SQLiteStore.inspectHealth(path: path)
            #expect(report.file.journalMode == "wal")
        }
    }

    /// The index has a mode that others could read it by, and gets its own again.
    @Test func whenItIsRepaired() async throws {
        try await expectKept { _ in
            chmod(path + "-shm", 0o644)
            _ = try await SQLiteStore.repair(path: path)
            #expect(try FileManager.default.attributesOfItem(atPath: path + "-shm")[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func whenItIsBackedUp() async throws {
        try await expectKept { _ in
            _ = try await SQLiteStore.backup(of: path, to: folder.file("copy.db"), replacing: false)
        }
    }

    /// A file that is restored may be open before its restoring is over.
    @Test func ofAFileThatIsBeingMade() async throws {
        let made = try NewFile(for: path, purpose: "test")
        defer { made.removeTemporaryName() }
        try await SQLiteStore.openWithJobs(made.temporaryPath).close()
        try made.publish()
        let store = try await SQLiteStore.open(path: path)
        let before = try locks()
        #expect(before.count >= 2, "\(before)")
        made.removeTemporaryName()
        #expect(try locks() == before)
        try await store.close()
    }

    /// A log that was removed under a store is another's by the time that it closes.
    @Test func aStoreWhoseLogWasRemovedLeavesTheNewOneAlone() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("old"))
        for end in ["-wal", "-shm"] { unlink(path + end) }
        // As another program does, which sees nothing of this one.
        let shell = SQLiteShell(path: path)
        let answer = try await shell.run("CREATE TABLE IF NOT EXISTS other (a); INSERT INTO other VALUES (1);")
        #expect(answer.succeeded, "\(answer.errors)")
        await expect(.fileReplaced) { try await store.put(.text("late")) }
        let log = FileIdentity.status(of: path + "-wal").map { FileIdentity($0) }
        try await store.close()
        #expect(FileIdentity.status(of: path + "-wal").map { FileIdentity($0) } == log)
        let after = try await shell.run("SELECT a FROM other; PRAGMA integrity_check;")
        #expect(after.output == "1\nok\n", "\(after)")
    }
}
