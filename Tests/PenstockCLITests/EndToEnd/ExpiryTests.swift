import Subprocess
import Testing

/// `--expires`, `--when-expired`, and what is shown of them.
@Suite(.timeLimit(.minutes(5)))
struct ExpiryTests {
    @Test func aMessageExpires() async throws {
        let tool = try await Tool.withQueue("--when-expired", "dead")
        #expect(
            try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]["whenExpired"].text == "dead")
        #expect(try await tool.succeed(["queue", "show", "q"]).output.contains("expired   messages are dead\n"))
        try await tool.succeed(["enqueue", "q", "late", "--expires", "2020-01-31T08:30:00Z"])
        try await tool.succeed(["enqueue", "q", "in time", "--expires", "1h30m"])
        try await tool.succeed(["enqueue", "q", "never"])
        let shown = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(shown["expiresAt"].text == "2020-01-31T08:30:00.000000Z")
        #expect(try await tool.succeed(["show", "1"]).lines.contains("expires   2020-01-31T08:30:00.000000Z"))
        #expect(try await tool.succeed(["show", "3", "--json"]).object()["expiresAt"].isNull)
        #expect(try await tool.succeed(["work", "q", "--drain", "--", "cat"]).output == "in timenever")
        #expect(try await tool.succeed(["show", "1", "--json"]).object()["reason"].text == "expired")
        #expect(try await tool.succeed(["dead", "list", "q"]).output.contains("expired"))
        try await tool.succeed(["queue", "set", "q", "--when-expired", "drop"])
        try await tool.succeed(["enqueue", "q", "late", "--expires", "2020-01-31T08:30:00Z"])
        // Nobody works the queue: a pruning ends it.
        try await tool.succeed(["queue", "pause", "q"])
        #expect(try await tool.succeed(["prune"]).output == "0 messages pruned.\n")
        #expect(try await tool.payloads("dropped") == ["late"])
        #expect(try await tool.succeed(["dead", "redrive", "1"]).status == .exited(0))
        #expect(try await tool.succeed(["show", "1", "--json"]).object()["expiresAt"].isNull)
        #expect(try await tool.succeed(["doctor"]).output.contains("every message expires when it says"))
    }

    @Test func linesSchedulesAndTasksExpire() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines", "--expires", "1h"], input: Array("a\nb\n".utf8))
        #expect(try await tool.sql("SELECT count(*) FROM penstock_expiry") == "2\n")
        try await tool.succeed(["schedule", "add", "s", "@yearly", "--queue", "q", "x", "--expires", "90s"])
        #expect(try await tool.succeed(["schedule", "show", "s", "--json"]).object()["expiresSeconds"].number == 90)
        #expect(try await tool.succeed(["schedule", "show", "s"]).lines.contains("expires   1m30s after each is due"))
        try await tool.succeed(["schedule", "run", "s"])
        #expect(try await tool.sql("SELECT count(*) FROM penstock_expiry") == "3\n")
        let flow = #"{"tasks": [{"name": "a", "expires": "1h"}, {"name": "b", "expires": "2h", "after": "a"}]}"#
        try await tool.succeed(["workflow", "run", "-", "--queue", "q"], input: Array(flow.utf8))
        #expect(try await tool.sql("SELECT count(*) FROM penstock_expiry") == "5\n")
    }

    @Test func whatCannotBeIsRefused() async throws {
        let tool = try await Tool.withQueue()
        for (arguments, said) in [
            (
                ["enqueue", "q", "x", "--expires", "soon"],
                "'soon' is no duration and no time; write how long, such as 10m"
            ),
            (
                ["enqueue", "q", "x", "--expires", "-5s"],
                "a message expires after it was enqueued, and '-5s' is before"
            ),
            (["enqueue", "q", "x", "--expires", "0s"], "A message expires after some time"),
            (["enqueue", "q", "x", "--expires", "4000d"], "more than ten years"),
            (["enqueue", "q", "x", "--expires", "5s", "--delay", "5s"], "would expire before it is due"),
            (["schedule", "add", "s", "@yearly", "--queue", "q", "x", "--expires", "2030-01-01"], "not at one moment"),
            (["queue", "set", "q", "--when-expired", "keep"], "write drop or dead"),
        ] {
            try await tool.fail(arguments, with: 64, saying: said)
        }
        #expect(try await tool.succeed(["list", "q", "--json"]).objects().isEmpty)
    }
}
