import PenstockTestKit
import Subprocess
import Testing

/// `work --lines` and `work --framed`: a command that stays, and answers one message after the other.
@Suite(.timeLimit(.minutes(5)))
struct StayingTests {
    private func tool(_ lines: [String]) async throws -> Tool {
        let tool = try await Tool.withQueue("--retry-base", "1h")
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array(lines.map { $0 + "\n" }.joined().utf8))
        return tool
    }

    private func work(_ options: String..., command: [String]) -> [String] {
        ["work", "q", "--drain"] + options + ["--"] + command
    }

    /// A loop of a shell that does `body` for each line.
    private func loop(_ body: String) -> [String] { ["sh", "-c", "while IFS= read -r line; do \(body); done"] }

    private func messages(_ tool: Tool) async throws -> [JSONObject] {
        try await tool.succeed(["log", "q", "--json"]).objects()
    }

    @Test func oneProcessAnswersAll() async throws {
        let tool = try await tool((1...50).map { "\($0)" })
        let worked = try await tool.succeed(work("--lines", command: loop("echo \"$$ $line $PENSTOCK_QUEUE\"")))
        let words = worked.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(words.map { $0[1] } == (1...50).map { "\($0)" })
        #expect(Set(words.map { $0[0] }).count == 1)
        #expect(Set(words.map { $0[2] }) == ["q"])
        #expect(try await messages(tool).allSatisfy { $0["state"].text == "done" })
    }

    @Test func thereAreAsManyAsMayRunAtOnce() async throws {
        let tool = try await tool(["a", "b", "c"])
        // Each waits until all three have a message.
        let gate = try Gate(in: tool)
        let worker = try await Running.start(
            tool,
            work("--lines", "--concurrency", "3", command: loop("echo has >&2; read -r _ < \(gate.path); echo $line")))
        for _ in 1...3 { #expect(try await worker.errors.readLine() == "has") }
        try gate.open(for: 3)
        #expect(try await worker.status == .exited(0))
        let output = String(decoding: try await worker.output.readToEnd(), as: UTF8.self)
        #expect(Set(output.split(separator: "\n")) == ["a", "b", "c"])
    }

    @Test func aRefusalFailsItsMessage() async throws {
        let tool = try await tool(["ok", "later", "never", "no", ""])
        let body = """
            case $line in later) printf '\\025retry-after 2h busy\\n';; never) printf '\\025reject bad address\\n';; \
            no) printf '\\025no luck\\n';; *) echo "$line";; esac
            """
        let worked = try await tool.succeed(work("--lines", command: loop(body)))
        #expect(worked.output == "ok\n\n")
        let messages = try await messages(tool)
        #expect(messages.map { $0["state"].text } == ["done", "scheduled", "dead", "scheduled", "done"])
        #expect(
            messages[1...3].map { $0["attempts"][0]["error"].text } == ["busy", "bad address", "no luck"])
    }

    @Test func answersGoOnOrAreKept() async throws {
        let tool = try await tool(["a", "b", "c"])
        try await tool.succeed(["queue", "create", "next"])
        let body = "[ $line = b ] && echo || echo \"<$line>\""
        try await tool.succeed(work("--lines", "--into", "next", "--max", "2", command: loop(body)))
        #expect(try await tool.payloads("ready", queue: "next") == ["<a>"])
        try await tool.succeed(work("--lines", "--result", command: loop(body)))
        #expect(try await tool.sql("SELECT CAST(result AS TEXT) FROM penstock_result") == "<c>\n")
    }

    @Test func payloadsOfSeveralLinesAreNoLines() async throws {
        let tool = try await Tool.withQueue()
        for payload in ["a\nb", "c\n"] { try await tool.succeed(["enqueue", "q"], input: Array(payload.utf8)) }
        let worked = try await tool.succeed(work("--lines", command: ["cat"]))
        #expect(worked.output == "c\n")
        let messages = try await messages(tool)
        #expect(messages.map { $0["state"].text } == ["dead", "done"])
        #expect(messages[0]["attempts"][0]["error"].text.contains("use --framed"))
    }

    /// Frames have any bytes, up to the longest payload there may be, both ways.
    @Test func framesHaveAnyBytes() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "next"])
        var seeded = Seeded(7)
        let payloads = [
            [], [10], [0x15, 0, 255, 10], seeded.bytes(100_000), [UInt8](repeating: 0x80, count: 16 << 20),
        ]
        for payload in payloads { try await tool.succeed(["enqueue", "q"], input: payload) }
        let worked = try await tool.succeed(work("--framed", "--into", "next", command: ["cat"]))
        #expect(worked.output == "" && worked.errors == "")
        // What is empty gives no message.
        for (number, payload) in payloads.dropFirst().enumerated() {
            #expect(try await tool.succeed(["show", "\(payloads.count + 1 + number)", "--payload"]).bytes == payload)
        }
        #expect(try await messages(tool).map { $0["state"].text } == Array(repeating: "done", count: 5))
    }

    @Test func aFrameRefusesByItsHighestBit() async throws {
        let tool = try await tool(["x"])
        let script = "head -c 5 >/dev/null; printf '\\200\\0\\0\\013reject this'; cat >/dev/null"
        try await tool.succeed(work("--framed", command: ["sh", "-c", script]))
        let message = try await messages(tool)[0]
        #expect(message["state"].text == "dead")
        #expect(message["attempts"][0]["error"].text == "this")
    }

    @Test func aProcessThatEndsFailsTheMessageItHad() async throws {
        let tool = try await tool(["1", "3", "65", "kill", "0", "2"])
        let body = """
            case $line in 1 | 2) echo $line;; kill) kill -9 $$;; *) echo "said $line" >&2; exit $line;; esac
            """
        let worked = try await tool.succeed(work("--lines", command: loop(body)))
        #expect(worked.output == "1\n2\n")
        let messages = try await messages(tool)
        #expect(messages.map { $0["state"].text } == ["done", "scheduled", "dead", "scheduled", "scheduled", "done"])
        #expect(
            messages[1...4].map { $0["attempts"][0]["error"].text } == [
                "ended without an answer: exit status 3: said 3", "exit status 65: said 65",
                "ended without an answer: killed by signal 9", "ended without an answer: exit status 0: said 0",
            ])
    }

    @Test(arguments: [
        ("printf '%s\\nmore\\n' $line", "more than one answer"), ("exec >&-; sleep 1000", "ended without an answer"),
        ("yes", "more than one answer"), ("sleep 1000", "stopped after 3s without an answer"),
        ("head -c 17000000 /dev/zero; sleep 1000", "more than 16777216 bytes"),
    ])
    func aProcessThatSaysWhatItShouldNotFailsItsMessage(body: String, words: String) async throws {
        let tool = try await tool(["bad"])
        try await tool.succeed(["queue", "create", "next"])
        try await tool.succeed(
            work(
                "--lines", "--into", "next", "--stop-time", "100ms", "--timeout",
                body == "sleep 1000" ? "3s" : "1h", command: loop("{ \(body); }")))
        let message = try await messages(tool)[0]
        #expect(message["state"].text == "scheduled")
        let error = message["attempts"][0]["error"].text
        #expect(error.contains(words), "\(error)")
        #expect(message["attempts"][0]["outcome"].text == (body == "sleep 1000" ? "timedOut" : "failed"))
        #expect(try await tool.succeed(["list", "next", "--json"]).lines.isEmpty)
    }

    /// What a process says before it is asked is told, and costs no message.
    @Test func aProcessThatTalksUnaskedIsStartedAnew() async throws {
        let tool = try await Tool.withQueue()
        let flag = "\(tool.folder)/flag"
        let script = "[ -e \(flag) ] || { touch \(flag); echo ready; }; exec cat"
        let worker = try await Running.start(tool, ["work", "q", "--lines", "--max", "1", "--", "sh", "-c", script])
        #expect(
            try await worker.errors.readLine()
                == "penstock: The command 'sh' wrote to its standard output without being asked; it was stopped, and is started anew."
        )
        try await tool.succeed(["enqueue", "q", "x"])
        #expect(try await worker.status == .exited(0))
        #expect(try await worker.output.readToEnd() == Array("x\n".utf8))
        #expect(try await messages(tool)[0]["attempt"].number == 1)
    }

    /// A message that nobody has read is no attempt, and waits for a process that reads.
    @Test func aProcessThatReadsNothingCostsNoAttempt() async throws {
        let tool = try await Tool.withQueue()
        let flag = "\(tool.folder)/flag"
        let script = "[ -e \(flag) ] || { exec <&-; touch \(flag); sleep 1000; }; exec cat"
        let worker = try await Running.start(
            tool, ["work", "q", "--lines", "--max", "1", "--stop-time", "100ms", "--", "sh", "-c", script])
        try await eventually { access(flag, F_OK) == 0 }
        try await tool.succeed(["enqueue", "q", "x"])
        #expect(try await worker.errors.readLine().contains("is started anew"))
        #expect(try await worker.status == .exited(0))
        #expect(try await messages(tool)[0]["attempt"].number == 1)
    }

    /// One that ends after each answer, or before it has read a message, costs none an attempt.
    @Test func whatNoProcessHasReadIsNoAttempt() async throws {
        let tool = try await tool((1...20).map { "\($0)" })
        let script = "[ -e flag ] || { touch flag; exit 3; }; read -r line; echo $line"
        let worked = try await tool.succeed(work("--lines", command: ["sh", "-c", script]))
        #expect(worked.lines == (1...20).map { "\($0)" })
        #expect(worked.errors == "penstock: The command 'sh' ended (exit status 3), and is started anew.\n")
        #expect(try await messages(tool).allSatisfy { $0["state"].text == "done" && $0["attempts"].count == 0 })
    }

    /// The message is larger than a pipe, so most of it is still to be written as the process falls silent and lives on.
    @Test func aProcessThatStopsInTheMiddleOfAMessageIsStopped() async throws {
        let tool = try await tool([String(repeating: "x", count: 300_000)])
        let script = "head -c 1; exec >&-; sleep 1000"
        try await tool.succeed(work("--lines", "--stop-time", "100ms", command: ["sh", "-c", script]))
        let message = try await messages(tool)[0]
        #expect(message["state"].text == "scheduled")
        #expect(message["attempts"][0]["error"].text.hasPrefix("ended without an answer"))
    }

    /// No process has read anything: the messages are as they were.
    @Test func aCommandThatNeverReadsEndsTheWorker() async throws {
        let tool = try await tool(["x"])
        try await tool.fail(work("--lines", command: ["false"]), with: 126, saying: "without reading a message")
        let message = try await messages(tool)[0]
        #expect(message["state"].text == "ready")
        #expect(message["attempts"].count == 0)
    }

    @Test func aCommandThatCannotBeStartedEndsTheWorker() async throws {
        let tool = try await tool(["x"])
        let script = try tool.file("once", "#!/no/such/interpreter\n".utf8)
        #expect(chmod(script, 0o755) == 0)
        let outcome = try await tool.run(work("--lines", command: [script]))
        #expect(outcome.status == .exited(126) || outcome.status == .exited(127))
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
    }

    /// It would be put back for the next process until the grace is over.
    @Test func aStopGivesBackWhatNoProcessReads() async throws {
        let tool = try await tool(["x"])
        let script = "echo begun >> begun; exit 0"
        let worker = try await Running.start(tool, work("--lines", "--grace", "10m", command: ["sh", "-c", script]))
        #expect(try await worker.errors.readLine().contains("is started anew"))
        worker.signal(SIGTERM)
        #expect(try await worker.status == .exited(0))
        let message = try await messages(tool)[0]
        #expect(message["state"].text == "ready" && message["attempts"].count == 0)
    }

    /// SIGTERM lets a process end its message, and then shows it the end of its input.
    @Test func aStopLetsMessagesEnd() async throws {
        let tool = try await tool(["a", "b"])
        let gate = try Gate(in: tool)
        let script = "while read -r line; do echo has >&2; read -r _ < \(gate.path); echo $line; done; echo left >&2"
        let worker = try await Running.start(tool, ["work", "q", "--lines", "--", "sh", "-c", script])
        #expect(try await worker.errors.readLine() == "has")
        worker.signal(SIGTERM)
        #expect(try await worker.errors.readLine().hasPrefix("penstock: Stopping; commands that run have 30s to end"))
        try gate.open(for: 2)
        #expect(try await worker.errors.readLine() == "left")
        #expect(try await worker.status == .exited(0))
        #expect(try await worker.output.readToEnd() == Array("a\n".utf8))
        #expect(try await messages(tool).map { $0["state"].text } == ["done", "ready"])
    }

    @Test(arguments: [false, true])
    func aStopThatIsNotHeardGivesBack(twice: Bool) async throws {
        let tool = try await tool(["a"])
        let script = "trap '' TERM; while read -r line; do echo has >&2; sleep 1000; done"
        let worker = try await Running.start(
            tool,
            [
                "work", "q", "--lines", "--grace", twice ? "1h" : "100ms", "--stop-time", "100ms", "--", "sh", "-c",
                script,
            ])
        #expect(try await worker.errors.readLine() == "has")
        worker.signal(SIGTERM)
        _ = try await worker.errors.readLine()
        if twice { worker.signal(SIGTERM) }
        #expect(try await worker.status == .exited(twice ? 143 : 0))
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
    }

    /// One that does not heed the end of its input is stopped all the same.
    @Test func aProcessThatIgnoresTheEndOfItsInputIsStopped() async throws {
        let tool = try await tool(["a"])
        let script = "read -r line; echo $line; sleep 1000"
        let worked = try await tool.succeed(work("--lines", "--stop-time", "100ms", command: ["sh", "-c", script]))
        #expect(worked.output == "a\n")
    }

    @Test func optionsThatDoNotGoTogetherAreRefused() async throws {
        let tool = try await tool(["a"])
        for options in [["--lines", "--framed"], ["--lines", "--into", "q", "--split-lines"]] {
            let outcome = try await tool.run(["work", "q"] + options + ["--", "cat"])
            #expect(outcome.status == .exited(64))
            #expect(outcome.errors.contains("--lines"))
        }
    }
}
