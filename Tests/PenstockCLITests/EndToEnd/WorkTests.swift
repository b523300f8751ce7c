import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct WorkTests {
    /// Writes its message as a line in one go: what commands that run at once write is not mixed within a write.
    private static let oneWrite = "read -r line || true; echo \"$line\""

    @Test func theExitStatusDecides() async throws {
        let tool = try await Tool.withQueue("--retry-base", "1h")
        let payloads = ["0", "65", "75", "3", "signal"]
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array(payloads.joined(separator: "\n").utf8))
        let script = """
            read -r line || true
            case $line in 0) exit 0;; signal) kill -9 $$;; *) echo "said $line" >&2; exit $line;; esac
            """
        let worked = try await tool.succeed(["work", "q", "--drain", "--", "sh", "-c", script])
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["done", "dead", "scheduled", "scheduled", "scheduled"])
        #expect(messages[1]["reason"].text == "rejected")
        #expect(
            messages.map { $0["attempts"][0]["error"].text }.dropFirst() == [
                "exit status 65: said 65", "exit status 75: said 75", "exit status 3: said 3", "killed by signal 9",
            ])
        #expect(messages.map { $0["attempts"][0]["outcome"].text }.dropFirst().first == "rejected")
        #expect(messages.dropFirst(2).allSatisfy { $0["attempts"][0]["outcome"].text == "failed" })
        // What the commands say is passed through, among the worker's own lines.
        #expect(worked.errors.contains("said 75\n"))
    }

    @Test func theMessageIsInTheEnvironment() async throws {
        let tool = try await Tool.withQueue()
        var outer = tool
        outer.variables["PENSTOCK_HEADER_STALE"] = "from outside"
        outer.variables["PENSTOCK_DB"] = "test.db"
        try await tool.succeed(["enqueue", "q", "x", "--header", "content-type=text/plain; a=\"b\"\nc"])
        let script = """
            echo "$PENSTOCK_SEQUENCE,$PENSTOCK_QUEUE,$PENSTOCK_ATTEMPT,$PENSTOCK_HEADER_CONTENT_TYPE"
            echo "${PENSTOCK_HEADER_STALE-unset},$PENSTOCK_DB"
            """
        let worked = try await outer.succeed(["work", "q", "--drain", "--", "sh", "-c", script])
        #expect(worked.output == "1,q,1,text/plain; a=\"b\"\nc\nunset,\(tool.folder)/test.db\n")
    }

    /// What a command does is in the trace of its message, and in none when that has none: not in the worker's own.
    @Test func theTraceIsInTheEnvironment() async throws {
        let tool = try await Tool.withQueue()
        var outer = tool
        for name in ["TRACEPARENT", "TRACESTATE", "BAGGAGE"] {
            outer.variables[.init(stringLiteral: name)] = "of the worker"
        }
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        try await tool.succeed([
            "enqueue", "q", "x", "--header", "traceparent=\(parent)", "--header", "TraceState=a=1", "--header",
            "baggage=b=2",
        ])
        try await tool.succeed(["enqueue", "q", "x", "--header", "traceparent=\(parent)"])
        try await tool.succeed(["enqueue", "q", "x"])
        let script = "echo ${TRACEPARENT-none} ${TRACESTATE-none} ${BAGGAGE-none}"
        let worked = try await outer.succeed(["work", "q", "--drain", "--", "sh", "-c", script])
        #expect(worked.lines == ["\(parent) a=1 b=2", "\(parent) none none", "none none none"])
    }

    @Test func noShellIsInvolved() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "$(touch no); `touch no`"])
        let worked = try await tool.succeed([
            "work", "q", "--drain", "--", "echo", "$HOME", "*", "a b", ";", "--max",
        ])
        #expect(worked.output == "$HOME * a b ; --max\n")
    }

    @Test(arguments: [
        ("no-such-command-anywhere", 127, "was not found in PATH"), ("./no-such-command", 127, "There is no command"),
        ("/etc/passwd", 126, "not a program that can be run"),
    ])
    func aCommandThatCannotBeRunClaimsNothing(command: String, status: Int32, words: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.fail(["work", "q", "--", command], with: status, saying: words)
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "ready")
        #expect(message["attempt"].number == 0)
    }

    @Test(arguments: [
        ("junk", "is no program; a script begins with"),
        ("#!/nonexistent/shell\n", "is there and cannot be run; is what its first line"),
    ])
    func aFileThatIsNoProgramIsSaidToBeNone(content: String, words: String) async throws {
        let tool = try await Tool.withQueue()
        let script = try tool.file("script", Array(content.utf8))
        try await chmod(script)
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.fail(["work", "q", "--", script], with: 126, saying: words)
        #expect(try await tool.succeed(["show", "1", "--json"]).object()["attempt"].number == 0)
    }

    /// A command that disappears stops the worker, and costs no message an attempt.
    @Test func aCommandThatIsGoneStopsTheWorker() async throws {
        let tool = try await Tool.withQueue()
        let script = try tool.file("once", "#!/bin/sh\nrm \"$0\"\n".utf8)
        try await chmod(script)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n".utf8))
        try await tool.fail(["work", "q", "--", script], with: 127, saying: "could not be started")
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["done", "ready"])
        #expect(messages.map { $0["attempt"].number } == [1, 0])
    }

    /// Headers that were changed by hand cost their own message: it is dead, with the reason, and the next one is worked.
    @Test(arguments: [
        "'{\"a=b\": \"1\"}'", "'{\"a\": \"\\u0000\"}'", "json_object('a', hex(zeroblob(100000)))",
    ])
    func aMessageWhoseHeadersNoCommandCanBeGivenIsDead(_ headers: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n".utf8))
        #expect(try await tool.sql("UPDATE penstock_log SET headers = \(headers) WHERE sequence = 1") == "")
        try await tool.succeed(["work", "q", "--drain", "--", "true"])
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["dead", "done"])
        #expect(messages[0]["reason"].text == "rejected")
        #expect(messages[0]["attempts"][0]["error"].text.hasPrefix("No command can be given its headers: "))
    }

    private func chmod(_ path: String) async throws {
        _ = try await Subprocess.run(.name("chmod"), arguments: ["+x", path], output: .discarded)
    }

    @Test func maxEndsTheWorkAfterThatMany() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n4\n5\n".utf8))
        let worked = try await tool.succeed([
            "work", "q", "--max", "3", "--concurrency", "2", "--", "sh", "-c", Self.oneWrite,
        ])
        #expect(worked.lines.sorted() == ["1", "2", "3"])
        #expect(try await tool.payloads("ready") == ["4", "5"])
    }

    @Test func asManyRunAtOnceAsAreAllowed() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n4\n".utf8))
        let script = "echo started; read -r _ < \(gate.path)"
        let worker = try await Running.start(
            tool, ["work", "q", "--concurrency", "3", "--drain", "--", "sh", "-c", script])
        // None ends before three have begun.
        var begun = 0
        while begun < 3 { begun += try await worker.output.read(upTo: 65_536).count { $0 == 0x0A } }
        #expect(try await tool.payloads("leased") == ["1", "2", "3"])
        try gate.open(for: 4)
        #expect(try await worker.status == .exited(0))
        #expect(try await tool.payloads("done").count == 4)
    }

    @Test func aCommandThatTakesTooLongIsStopped() async throws {
        let tool = try await Tool.withQueue("--retry-base", "1h")
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool,
            ["work", "q", "--max", "1", "--timeout", "50ms", "--", "sh", "-c", "sleep 1000 & wait"])
        #expect(try await worker.output.readToEnd() == [])
        #expect(try await worker.status == .exited(0))
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "scheduled")
        #expect(message["attempts"][0]["outcome"].text == "timedOut")
        #expect(message["attempts"][0]["error"].text.hasPrefix("stopped after 50ms; killed by signal 15"))
    }

    /// The lease has half a minute left: the worker is told by a ring.
    @Test(arguments: [[], ["--now"], ["--within", "7d"]])
    func aCancelledMessagesCommandIsStopped(options: [String]) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo started; sleep 1000 & wait"])
        #expect(try await worker.output.readLine() == "started")
        let said = try await tool.succeed(["cancel", "1"] + options).output
        // It may be cancelled by the time that it is looked for.
        #expect(said.hasPrefix("1 message cancelled once its worker has ended, ") || said == "1 message cancelled.\n")
        #expect(try await worker.output.readToEnd() == [])
        #expect(try await worker.status == .exited(0))
        #expect(try await tool.succeed(["show", "1", "--json"]).object()["state"].text == "cancelled")
    }

    @Test func aCommandThatEndsWellIsDoneThoughItWasToBeCancelled() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let script = "trap 'echo half; exit 0' TERM; echo started >&2; sleep 1000 & wait"
        let worker = try await Running.start(tool, ["work", "q", "--max", "1", "--result", "--", "sh", "-c", script])
        #expect(try await worker.errors.readLine() == "started")
        try await tool.succeed(["cancel", "1"])
        #expect(try await worker.status == .exited(0))
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "done")
        #expect(message["result"].text == "half\n")
    }

    /// A process that stays is stopped with the message that it has, and another one goes on.
    @Test func aProcessThatStaysIsStoppedWithItsMessage() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("wait\ngo\n".utf8))
        let script = #"while read -r line; do [ $line = wait ] && { echo here >&2; sleep 1000; }; echo $line; done"#
        let worker = try await Running.start(tool, ["work", "q", "--lines", "--max", "2", "--", "sh", "-c", script])
        #expect(try await worker.errors.readLine() == "here")
        try await tool.succeed(["cancel", "1"])
        #expect(try await worker.output.readToEnd() == Array("go\n".utf8))
        #expect(try await worker.status == .exited(0))
        #expect(try await tool.payloads("cancelled") == ["wait"])
        #expect(try await tool.payloads("done") == ["go"])
    }

    @Test func twoWorkersShareAQueue() async throws {
        let tool = try await Tool.withQueue()
        let lines = (1...300).map(String.init)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array(lines.joined(separator: "\n").utf8))
        let arguments = ["work", "q", "--concurrency", "4", "--drain", "--", "sh", "-c", Self.oneWrite]
        async let one = tool.succeed(arguments)
        async let other = tool.succeed(arguments)
        let worked = try await (one.lines + other.lines).sorted { Int($0) ?? 0 < Int($1) ?? 0 }
        #expect(worked == lines)
        #expect(try await tool.payloads("done").count == 300)
    }
}
