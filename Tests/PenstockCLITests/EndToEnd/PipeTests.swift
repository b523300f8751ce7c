import Subprocess
import Testing

/// `work --into`: what a command writes becomes messages of another queue.
@Suite(.timeLimit(.minutes(5)))
struct PipeTests {
    /// A tool with the queues `q` and `next`.
    private func tool(_ policy: String...) async throws -> Tool {
        let tool = try await Tool.withQueue("--retry-base", "1h")
        try await tool.succeed(["queue", "create", "next"] + policy)
        return tool
    }

    private let work = ["work", "q", "--into", "next", "--drain", "--"]

    @Test func whatACommandWritesIsAMessageByteByByte() async throws {
        let tool = try await tool()
        let payload: [UInt8] = [0, 255, 10, 13, 10]
        try await tool.succeed(["enqueue", "q", "--header", "trace=42", "--priority", "7"], input: payload)
        let worked = try await tool.succeed(work + ["cat"])
        #expect(worked.output == "")
        let shown = try await tool.succeed(["show", "2", "--json"]).object()
        #expect(shown["queue"].text == "next")
        #expect(shown["state"].text == "ready")
        #expect(shown["priority"].number == 7)
        #expect(shown["headers"]["trace"].text == "42")
        #expect(try await tool.succeed(["show", "2", "--payload"]).bytes == payload)
    }

    @Test func eachLineIsAMessageWhenItIsToBe() async throws {
        let tool = try await tool()
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.succeed(
            ["work", "q", "--into", "next", "--split-lines", "--drain", "--", "printf", "a\\n\\nb\\r\\nc"])
        #expect(try await tool.payloads("ready", queue: "next") == ["a", "", "b\r", "c"])
    }

    @Test func aCommandThatWritesNothingOrFailsGivesNone() async throws {
        let tool = try await tool()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("0\n1\n65".utf8))
        let script = "read -r line || true; [ $line = 0 ] || echo half; exit $line"
        try await tool.succeed(work + ["sh", "-c", script])
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["done", "scheduled", "dead"])
        #expect(try await tool.succeed(["list", "next", "--json"]).objects().isEmpty)
    }

    @Test func moreThanOneMessageHoldsFailsTheAttempt() async throws {
        let tool = try await tool()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("most\nmore\nlines".utf8))
        let script = """
            read -r line || true
            case $line in
            most) head -c 16777216 /dev/zero;;
            more) head -c 16777217 /dev/zero; sleep 1000;;
            lines) yes | head -n 10001;;
            esac
            """
        try await tool.succeed(
            ["work", "q", "--into", "next", "--drain", "--max", "2", "--", "sh", "-c", script])
        try await tool.succeed(
            ["work", "q", "--into", "next", "--split-lines", "--drain", "--", "sh", "-c", script])
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["done", "scheduled", "scheduled"])
        #expect(messages[1]["attempts"][0]["error"].text.contains("more than 16777216 bytes (payloadBytesMax)"))
        #expect(messages[2]["attempts"][0]["error"].text.contains("10001 lines"))
        // To list it would write each of its bytes as six.
        let next = try await tool.sql(
            """
            SELECT length(CAST(log.payload AS BLOB)) FROM penstock_log AS log
            JOIN penstock_queue AS queue ON queue.id = log.queue_id WHERE queue.name = 'next'
            """)
        #expect(next == "16777216\n")
    }

    /// A full queue holds the worker up, whatever its policy, and costs no attempt.
    @Test(arguments: ["wait", "fail"])
    func aFullQueueIsWaitedFor(whenFull: String) async throws {
        let tool = try await tool("--capacity", "1", "--when-full", whenFull)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3".utf8))
        let worker = try await Running.start(tool, work + ["sh", "-c", "echo ran >&2; cat"])
        for _ in 1...3 {
            let taken = try await tool.succeed(["work", "next", "--max", "1", "--", "cat"])
            #expect(taken.output.count == 1)
        }
        #expect(try await worker.status == .exited(0))
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["done", "done", "done"])
        #expect(messages.map { $0["attempt"].number } == [1, 1, 1])
        // No command ran again for want of room.
        #expect(try await worker.errors.readToEnd() == Array("ran\nran\nran\n".utf8))
    }

    @Test func whatCanNeverFitFailsTheAttempt() async throws {
        let tool = try await tool("--capacity", "2", "--when-full", "wait")
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.succeed(
            ["work", "q", "--into", "next", "--split-lines", "--drain", "--", "printf", "1\\n2\\n3\\n"])
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "scheduled")
        #expect(message["attempts"][0]["error"].text.contains("holds 2, and 3 messages are for it at once"))
    }

    /// A worker that is to end gives back the message whose output found no room.
    @Test func aWorkerThatStopsAsItWaitsForRoomGivesBack() async throws {
        let tool = try await tool("--capacity", "1", "--when-full", "wait")
        try await tool.succeed(["enqueue", "next", "before"])
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool, ["work", "q", "--into", "next", "--grace", "100ms", "--", "sh", "-c", "echo ran >&2; cat"])
        #expect(try await worker.errors.readLine() == "ran")
        worker.signal(SIGTERM)
        #expect(try await worker.status == .exited(0))
        let message = try await tool.succeed(["show", "2", "--json"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
    }

    @Test func aQueueThatIsNotThereIsRefusedAtOnce() async throws {
        let tool = try await tool()
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.fail(
            ["work", "q", "--into", "nowhere", "--", "cat"], with: 66, saying: "There is no queue 'nowhere'")
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'next'")
        try await tool.fail(["work", "q", "--into", "next", "--", "cat"], with: 69, saying: "is being deleted")
        #expect(try await tool.succeed(["show", "1", "--json"]).object()["attempt"].number == 0)
    }

    /// That the queue is gone is no fault of the message.
    @Test func aQueueThatGoesEndsTheWorker() async throws {
        let tool = try await tool()
        try await tool.succeed(["enqueue", "q", "x"])
        let outcome = try await tool.run(work + ["sh", "-c", "\(Tool.path) queue delete next >&2; cat"])
        #expect(outcome.status == .exited(66))
        #expect(outcome.errors.contains("There is no queue 'next'"))
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
    }

    @Test func optionsThatDoNotGoTogetherAreRefused() async throws {
        let tool = try await tool()
        for (options, words) in [
            (["--into", "next", "--result"], "leave one of them out"), (["--split-lines"], "goes with --into"),
        ] {
            let outcome = try await tool.run(["work", "q"] + options + ["--", "cat"])
            #expect(outcome.status == .exited(64))
            #expect(outcome.errors.contains(words))
        }
    }
}
