import Subprocess
import PenstockTestKit
import Testing

/// `penstock enqueue --wait`: what a message gives comes back to whoever enqueued it.
@Suite(.timeLimit(.minutes(5))) struct EnqueueWaitTests {
    @Test func whatTheCommandPrintsComesBack() async throws {
        let tool = try await Tool.withQueue()
        let asker = try await Running.start(tool, ["enqueue", "q", "3 4", "--wait", "--timeout", "5m"])
        let script = #"read -r a b; printf '%s\0' $((a + b))"#
        try await tool.succeed(["work", "q", "--max", "1", "--result", "--", "sh", "-c", script])
        #expect(try await asker.output.readToEnd() == Array("7\0".utf8))
        #expect(try await asker.errors.readToEnd() == [])
        #expect(try await asker.status == .exited(0))
    }

    /// Whoever runs it again would have the work done twice.
    @Test func aResultThatCannotBeWrittenIsNoReasonToTryAgain() async throws {
        let tool = try await Tool.withQueue()
        async let worked = tool.succeed(["work", "q", "--max", "1", "--result", "--", "cat"])
        let asker = try await tool.runWithoutOutput(["enqueue", "q", "x", "--wait"])
        #expect(
            asker.errors.hasPrefix("penstock: Message 1 is done, but what it gave cannot be shown. Standard output"),
            "\(asker.errors)")
        #expect(asker.status == .exited(76))
        _ = try await worked
    }

    /// A command that prints nothing that is kept, or that has stayed and answered, is done all the same.
    @Test func whatGivesNothingIsDone() async throws {
        let tool = try await Tool.withQueue()
        let asker = try await Running.start(tool, ["enqueue", "q", "x", "--wait"])
        try await tool.succeed(["work", "q", "--max", "1", "--", "cat"])
        #expect(try await asker.output.readToEnd() == [])
        #expect(try await asker.status == .exited(0))
    }

    @Test func aDeadLetterIsSaidToBeOne() async throws {
        let tool = try await Tool.withQueue()
        let asker = try await Running.start(tool, ["enqueue", "q", "x", "--wait"])
        try await tool.succeed(["work", "q", "--max", "1", "--", "sh", "-c", "echo broken >&2; exit 65"])
        #expect(try await asker.output.readToEnd() == [])
        let said = String(decoding: try await asker.errors.readToEnd(), as: UTF8.self)
        #expect(said == "penstock: Message 1 is a dead letter: exit status 65: broken\n")
        #expect(try await asker.status == .exited(1))
    }

    @Test func aMessageThatWentWithItsQueueIsSaidToBeGone() async throws {
        let tool = try await Tool.withQueue()
        let asker = try await Running.start(tool, ["enqueue", "q", "x", "--wait"])
        try await eventually { try await tool.run(["show", "1"]).status == .exited(0) }
        try await tool.succeed(["queue", "delete", "q", "--force"])
        let said = String(decoding: try await asker.errors.readToEnd(), as: UTF8.self)
        #expect(said == "penstock: Message 1 went with its queue 'q', which was deleted.\n")
        #expect(try await asker.status == .exited(66))
    }

    @Test func aCancelledMessageIsSaidToBeOne() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo began; read -r _ < \(gate.path)"])
        let asker = try await Running.start(tool, ["enqueue", "q", "x", "--wait"])
        #expect(try await worker.output.readLine() == "began")
        try await tool.succeed(["cancel", "1"])
        #expect(try await asker.output.readToEnd() == [])
        #expect(try await asker.status == .exited(2))
        #expect(try await worker.status == .exited(0))
    }

    @Test func aTimeoutLeavesTheMessageInLine() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(
            ["enqueue", "q", "x", "--wait", "--timeout", "50ms"], with: 75, saying: "Message 1 has not ended within")
        try await tool.succeed(["work", "q", "--drain", "--result", "--", "cat"])
        #expect(try await tool.succeed(["show", "1", "--result"]).output == "x")
        // It is waited for again by its key, or rather another one that has it.
        try await tool.succeed(["enqueue", "q", "y", "--key", "k"])
        try await tool.fail(
            ["enqueue", "q", "z", "--key", "k", "--wait", "--timeout", "50ms"], with: 75, saying: "Message 2 has not")
    }

    @Test func aDroppedMessageIsSaidToBeOne() async throws {
        let tool = try await Tool.withQueue("--capacity", "1", "--when-full", "dropNewest")
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.fail(["enqueue", "q", "y", "--wait"], with: 2, saying: "Message 2 was dropped")
    }

    @Test(arguments: [["--lines"], ["--json"]])
    func whatDoesNotGoTogether(option: [String]) async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(["enqueue", "q", "--wait"] + option, with: 64, saying: "so it excludes \(option[0])")
    }
}
