import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RestoreTests {
    /// A tool whose queue has two messages, the first one done, and a backup of its file.
    private func withBackup() async throws -> (tool: Tool, backup: String) {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("one\ntwo\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        let backup = "\(tool.folder)/backup.db"
        #expect(try await tool.sql("VACUUM INTO '\(backup)'") == "")
        return (tool, backup)
    }

    @Test func aFileIsMadeOfABackupAndGoesOn() async throws {
        let (tool, backup) = try await withBackup()
        // What happens after the backup is not in it.
        try await tool.succeed(["enqueue", "q", "three"])
        let made = try await tool.succeed(["restore", backup, "--db", "new.db"])
        #expect(
            made.lines == [
                "new.db was made from \(backup); the next message is 1000000003, and 0 that workers had are ready again."
            ])
        var new = tool
        new.variables["PENSTOCK_DB"] = "\(tool.folder)/new.db"
        #expect(try await new.payloads("done,ready") == ["one", "two"])
        #expect(try await new.succeed(["enqueue", "q", "after"]).output == "1000000003\n")
        #expect(try await new.succeed(["work", "q", "--drain", "--", "cat"]).output == "twoafter")
        try await new.succeed(["doctor"])

        let again = try await tool.succeed(["restore", "backup.db", "--db", "again.db", "--json"]).object()
        #expect(again["path"].text == "again.db")
        #expect(again["backup"].text == "backup.db")
        #expect(again["nextSequence"].number == 1_000_000_003)
        #expect(again["released"].number == 0)
    }

    /// No program has the file open between two commands: then a copy of it by hand has everything.
    @Test func aCopyBetweenTwoCommandsHasEverything() async throws {
        let tool = try await Tool.withQueue()
        func copied(_ name: String) throws -> Tool {
            let (file, copy) = ("\(tool.folder)/test.db", "\(tool.folder)/\(name)")
            #expect(!FileManager.default.fileExists(atPath: file + "-wal"))
            try FileManager.default.copyItem(atPath: file, toPath: copy)
            var other = tool
            other.variables["PENSTOCK_DB"] = copy
            return other
        }
        #expect(try await copied("empty.db").payloads("ready") == [])
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("one\ntwo\n".utf8))
        #expect(try await copied("ready.db").payloads("ready") == ["one", "two"])
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        _ = try copied("one.db")
        try await tool.succeed(["restore", "one.db", "--db", "new.db"])
        var new = tool
        new.variables["PENSTOCK_DB"] = "\(tool.folder)/new.db"
        #expect(try await new.payloads("done,ready") == ["one", "two"])
    }

    /// What a worker had when the backup was made has no worker in the new file.
    @Test func whatWorkersHadIsReadyAgain() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "held"])
        let gate = try Gate(in: tool)
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo begun; read -r _ <'\(gate.path)'"])
        #expect(try await worker.output.readLine() == "begun")
        // A store that is worked may be copied, too.
        let made = try await tool.succeed(["restore", "test.db", "--db", "new.db", "--json"]).object()
        #expect(made["released"].number == 1)
        let message = try await tool.succeed(["show", "1", "--json", "--db", "new.db"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
        #expect(try await tool.succeed(["status", "--json", "--db", "new.db"]).object()["workers"].count == 0)
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await tool.payloads("done") == ["held"])
    }

    @Test func whatCannotBeRestoredIsSaid() async throws {
        let (tool, _) = try await withBackup()
        try await tool.fail(["restore"], with: 64, saying: "Missing expected argument '<backup>'")
        try await tool.fail(
            ["restore", "none.db", "--db", "new.db"], with: 66, saying: "There is no backup at none.db.")
        try await tool.fail(["restore", "backup.db"], with: 73, saying: "test.db already, and it is left as it is")
        try await tool.fail(["restore", "test.db"], with: 73, saying: "test.db already, and it is left as it is")
        _ = try tool.file("new.db-wal", "old".utf8)
        try await tool.fail(["restore", "backup.db", "--db", "new.db"], with: 73, saying: "new.db-wal already")
        try await tool.fail(
            ["restore", "backup.db", "--db", "no/such/folder/new.db"], with: 73, saying: "no/such/folder/new.db")
        let letter = try tool.file("letter", String(repeating: "no database\n", count: 999).utf8)
        try await tool.fail(["restore", letter, "--db", "other.db"], with: 65, saying: "is not an SQLite database")
        try await tool.fail(["restore", ".", "--db", "other.db"], with: 65, saying: "is a folder")
        try await tool.fail(["restore", "backup.db", "--db", ""], with: 64, saying: "cannot be empty")
        let left = try FileManager.default.contentsOfDirectory(atPath: tool.folder)
        #expect(left.filter { $0.hasPrefix("new.db") || $0.hasPrefix("other.db") } == ["new.db-wal"])
    }
}
