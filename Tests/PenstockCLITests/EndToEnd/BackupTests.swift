import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BackupTests {
    @Test func aFileThatIsWorkedIsBackedUpAndRestored() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("one\ntwo\n".utf8))
        let gate = try Gate(in: tool)
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo begun; read -r _ <'\(gate.path)'"])
        #expect(try await worker.output.readLine() == "begun")
        let made = try await tool.succeed(["backup", "backup.db"])
        #expect(made.lines == ["backup.db was made of \(tool.folder)/test.db, with messages up to 2."])
        try gate.open()
        #expect(try await worker.status == .exited(0))
        let restored = try await tool.succeed(["restore", "backup.db", "--db", "new.db", "--json"]).object()
        #expect(restored["released"].number == 1)
        try await tool.succeed(["enqueue", "q", "three"])
        let again = try await tool.succeed(["backup", "backup.db", "--replace", "--json"]).object()
        #expect(again["lastSequence"].number == 3)
        #expect(again["path"].text == "backup.db")
        #expect(again["source"].text == "\(tool.folder)/test.db")
        let size = try FileManager.default.attributesOfItem(atPath: "\(tool.folder)/backup.db")[.size] as? Int
        #expect(again["bytes"].number == size.map(Double.init))
    }

    @Test func whatCannotBeBackedUpIsSaid() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(["backup"], with: 64, saying: "Missing expected argument '<backup>'")
        try await tool.fail(
            ["backup", "b.db", "--db", "none.db"], with: 66, saying: "There is no Penstock file at none.db")
        try await tool.succeed(["backup", "b.db"])
        try await tool.fail(["backup", "b.db"], with: 73, saying: "b.db already, and it is left as it is")
        try await tool.fail(
            ["backup", "test.db", "--replace"], with: 73, saying: "is the file that is to be backed up")
        let letter = try tool.file("letter", "dear reader".utf8)
        try await tool.fail(["backup", letter, "--replace"], with: 73, saying: "is no backup of Penstock's")
        // A person who may not read one is not told that it is none.
        try await tool.succeed(["backup", "mine.db"])
        if geteuid() != 0 {
            chmod("\(tool.folder)/mine.db", 0)
            try await tool.fail(["backup", "mine.db", "--replace"], with: 77, saying: "mine.db")
        }
        try await tool.fail(["backup", "no/such/b.db"], with: 73, saying: "no/such/b.db")
        try await tool.fail(["backup", ""], with: 64, saying: "cannot be empty")
        let left = try FileManager.default.contentsOfDirectory(atPath: tool.folder)
        #expect(left.filter { $0.hasPrefix("b.db") } == ["b.db"])
    }
}
