import Subprocess
import Testing

@testable import PenstockCLI

/// A queue whose deletion with force was broken off.
@Suite(.timeLimit(.minutes(5))) struct DeletingTests {
    /// What is advised to do does it.
    @Test func itIsSaidHowItIsFinished() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        try await tool.fail(
            ["enqueue", "q", "late"], with: 69, saying: "or finish it with `penstock queue delete --force`")
        try await tool.fail(
            ["queue", "delete", "q"], with: 64, saying: "or finish it with `penstock queue delete --force`")
        #expect(try await tool.run(["doctor"]).output.contains("with force (`--force`) if messages wait"))
        try await tool.succeed(["queue", "delete", "q", "--force"])
        try await tool.fail(["enqueue", "q", "late"], with: 66, saying: "no queue 'q'")
    }

    @Test func withoutMessagesThatWaitNoForceIsAdvised() async throws {
        let tool = try await Tool.withQueue()
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        try await tool.fail(["enqueue", "q", "late"], with: 69, saying: "or finish it with `penstock queue delete`.")
        try await tool.succeed(["queue", "delete", "q"])
    }

    /// It gives nothing, though messages are ready.
    @Test func aWorkerSaysThatItGivesNothing() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        let outcome = try await tool.run(["work", "q", "--drain", "--", "cat"])
        #expect(outcome.status == .exited(0))
        #expect(outcome.output == "")
        #expect(outcome.errors.contains("The queue 'q' is being deleted"), "\(outcome.errors)")
    }
}
