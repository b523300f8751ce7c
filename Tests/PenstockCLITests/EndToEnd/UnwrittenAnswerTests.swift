import Foundation
import Subprocess
import Testing

/// What is said when an answer cannot be written. A script that tries a command again that has changed something would, for
/// example, have the messages twice.
@Suite(.timeLimit(.minutes(5)))
struct UnwrittenAnswerTests {
    /// A tool whose queue has a message that is done, one that is dead, and one that waits; and a backup of its file.
    private func prepared() async throws -> Tool {
        let (tool, content) = (try Tool.empty(), try await Self.made.value)
        let path = try tool.file("test.db", content)
        #expect(chmod(path, 0o600) == 0)
        #expect(try await tool.sql("VACUUM INTO '\(tool.folder)/backup.db'") == "")
        return tool
    }

    /// What is in such a file: it is made once, as that takes five programs, and copied.
    private static let made = Task { try await make() }

    private static func make() async throws -> Data {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        try await tool.succeed(["work", "q", "--max", "1", "--", "sh", "-c", "exit 65"])
        // The last one that leaves the file takes into it what is in its log.
        #expect(try await tool.sql("SELECT count(*) FROM penstock_log") == "3\n")
        return try Data(contentsOf: URL(filePath: "\(tool.folder)/test.db"))
    }

    @Test(arguments: [
        (["enqueue", "q", "x"], "Message 4 is in line, but its number cannot be shown."),
        (["enqueue", "q", "--lines"], "2 messages enqueued (4 to 5). But that cannot be shown."),
        (["replay", "q", "--from", "1"], "2 messages replayed. But that cannot be shown."),
        (["cancel", "3"], "1 message cancelled. But that cannot be shown."),
        (["retry", "2"], "1 message put back in line. But that cannot be shown."),
        (["dead", "redrive", "--queue", "q"], "1 message redriven. But that cannot be shown."),
        (["dead", "discard", "2"], "1 message discarded. But that cannot be shown."),
        (["prune", "q", "--retain-count", "0"], "1 message pruned. But that cannot be shown."),
        (["queue", "create", "new"], "Queue new created. But that cannot be shown."),
        (["queue", "set", "q", "--attempts", "3"], "Queue q set. But that cannot be shown."),
        (["queue", "pause", "q"], "Queue q paused. But that cannot be shown."),
        (["queue", "resume", "q"], "Queue q resumed. But that cannot be shown."),
        (["queue", "delete", "q", "--force"], "Queue q deleted. But that cannot be shown."),
        (["migrate", "--db", "new.db"], "new.db was made, by "),
        (["restore", "backup.db", "--db", "new.db"], "new.db was made from backup.db; the next message is 1000000"),
    ])
    func whatWasDoneIsSaid(command: [String], words: String) async throws {
        let input = Array("4\n5\n".utf8)
        for options in [[], ["--json"]] {
            let outcome = try await prepared().runWithoutOutput(command + options, input: input)
            #expect(outcome.status == .exited(76), "\(outcome.errors)")
            #expect(outcome.errors.hasPrefix("penstock: \(words)"), "\(outcome.errors)")
            #expect(outcome.errors.contains(" Standard output cannot be written (Bad file descriptor); "))
            #expect(outcome.errors.count { $0 == "\n" } == 1)
        }
        let outcome = try await prepared().runWithoutReader(command, input: input)
        #expect(outcome.status == .exited(76), "\(outcome.errors)")
        #expect(outcome.errors.hasPrefix("penstock: \(words)"), "\(outcome.errors)")
        #expect(outcome.errors.contains(" Standard output cannot be written (Broken pipe); "))
    }

    /// As of every program that only shows something.
    @Test func whatOnlyShowsEndsWithItsReader() async throws {
        let outcome = try await prepared().runWithoutReader(["list", "q"])
        #expect(outcome.status == .signaled(SIGPIPE), "\(outcome.errors)")
        #expect(outcome.errors == "")
    }

    @Test func aRepairIsSaid() async throws {
        let tool = try await prepared()
        #expect(try await tool.sql("UPDATE penstock_depth SET ready = 17") == "")
        let wouldBe = try await tool.runWithoutOutput(["doctor", "--repair", "--dry-run"])
        #expect(wouldBe.status == .exited(74))
        let outcome = try await tool.runWithoutOutput(["doctor", "--repair"])
        #expect(outcome.status == .exited(76))
        #expect(outcome.errors.contains("/test.db was repaired. But that cannot be shown."), "\(outcome.errors)")
        #expect(try await tool.runWithoutOutput(["doctor", "--repair"]).status == .exited(74))
    }

    /// Nothing was changed, so that the same command may be tried again.
    @Test(arguments: [
        ["status"], ["enqueue", "q", "--lines"], ["replay", "q", "--from", "1", "--dry-run"], ["prune"],
        ["cancel", "--queue", "q", "--limit", "1"],
    ])
    func whereNothingWasDoneItIsAnErrorOfOutput(command: [String]) async throws {
        let tool = try await Tool.withQueue()
        let outcome = try await tool.runWithoutOutput(command)
        #expect(outcome.status == .exited(74))
        #expect(
            outcome.errors
                == "penstock: Standard output cannot be written (Bad file descriptor); free some room or redirect it.\n"
        )
    }
}
