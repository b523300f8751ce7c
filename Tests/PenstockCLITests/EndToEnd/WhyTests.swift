import PenstockTestKit
import Subprocess
import Testing

/// `penstock why`
@Suite(.timeLimit(.minutes(5)))
struct WhyTests {
    @Test func itSaysWhatAMessageWaitsFor() async throws {
        let tool = try await Tool.withQueue("--limit-per-key", "1")
        for text in ["a", "b", "c"] { try await tool.succeed(["enqueue", "q", text, "--group", "g"]) }
        let (day, nextDay) = (ComingDay(month: 1, day: 31).text, ComingDay(month: 2, day: 1).text)
        try await tool.succeed(["enqueue", "q", "x", "--at", "\(day)T08:30:00Z", "--expires", nextDay])
        #expect(
            try await tool.succeed(["why", "1"]).lines == [
                "Message 1 of q is ready.", "No worker that has had messages of this store is alive.",
            ])
        #expect(
            try await tool.succeed(["why", "3"]).lines == [
                "Message 3 of q is blocked.", "A permit of its group g has message 1, which is ready.",
                "1 message of its group comes before it.",
            ])
        #expect(
            try await tool.succeed(["why", "4"]).lines == [
                "Message 4 of q is scheduled.", "It is due at \(day)T08:30:00Z.",
                "It expires at \(nextDay)T00:00:00Z.",
            ])
        try await tool.succeed(["queue", "pause", "q"])
        #expect(
            try await tool.succeed(["why", "1"]).lines[1]
                == "The queue is paused; `penstock queue resume q` lets it go on.")
        try await tool.succeed(["queue", "resume", "q"])
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        let lines = try await tool.succeed(["why", "1"]).lines
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("Message 1 of q is done since 2"))
        try await tool.succeed(["cancel", "2"])
        #expect(try await tool.succeed(["why", "2"]).output.hasSuffix("Z: somebody has cancelled it.\n"))
        try await tool.fail(["why", "99"], with: 66, saying: "There is no message 99")
        try await tool.fail(["why", "x"], with: 64, saying: "a whole number from 1")
    }

    @Test func itSaysWhoHasAMessage() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo began; read -r _ < \(gate.path)"])
        #expect(try await worker.output.readLine() == "began")
        let line = try #require(try await tool.succeed(["why", "1"]).lines.first)
        #expect(line.hasPrefix("Message 1 of q is with worker 1 ("))
        #expect(line.hasSuffix("Z, attempt 1 of 10."))
        let reason = try await tool.succeed(["why", "1", "--json"]).object()
        #expect(reason["state"].text == "leased")
        #expect(reason["holder"]["isAlive"].flag == true)
        try gate.open()
        #expect(try await worker.status == .exited(0))
    }

    @Test func everyCauseIsJSON() async throws {
        let tool = try await Tool.withQueue("--limit-per-key", "1", "--limit", "1")
        for text in ["a", "b", "c"] { try await tool.succeed(["enqueue", "q", text, "--group", "g"]) }
        let blocked = try await tool.succeed(["why", "3", "--json"]).object()
        #expect(blocked["causes"][0]["cause"].text == "permit")
        #expect(blocked["causes"][0]["message"]["sequence"].number == 1)
        #expect(blocked["causes"][1]["cause"].text == "before")
        #expect(blocked["causes"][1]["count"].number == 1)
        #expect(blocked["holder"].isNull)
        try await tool.succeed(
            ["workflow", "run", "-", "--queue", "q"],
            input: Array(
                #"{"tasks": [{"name": "a"}, {"name": "b", "after": "a"}]}"#.utf8))
        let task = try await tool.succeed(["why", "5", "--json"]).object()
        #expect(task["state"].text == "pending")
        #expect(task["causes"][0]["message"]["task"].text == "a")
        #expect(
            try await tool.succeed(["why", "5"]).lines == [
                "Message 5 of q is pending.", "It waits for the task a, message 4, which is ready.",
            ])
    }
}
