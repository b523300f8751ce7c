import PenstockTestKit
import Subprocess
import Testing

/// What a process of a command that stays has started, and left running.
@Suite(.timeLimit(.minutes(5)))
struct StayingLeftoverTests {
    /// It would go on with a message that another process is given. The worker works on meanwhile, in the same process group.
    @Test func whatAProcessLeavesRunningEndsWithIt() async throws {
        let tool = try await Tool.withQueue("--retry-base", "1h")
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("leave\ngo\n".utf8))
        let path = "\(tool.folder)/left"
        #expect(mkfifo(path, 0o600) == 0)
        let left = try FileDescriptor.open(FilePath(path), .readOnly, options: .nonBlocking)
        defer { try? left.close() }
        let gate = try Gate(in: tool)
        let script = """
            while IFS= read -r line; do
                if [ $line = leave ]; then exec 3>left; sleep 1000 </dev/null >/dev/null 2>&1 & exit 3; fi
                echo has >&2; read -r _ < \(gate.path); echo $line
            done
            """
        // With the worker's end, or the time that a message may take, everything ends: the second message is done before both.
        let worker = try await Running.start(
            tool, ["work", "q", "--drain", "--lines", "--timeout", "30s", "--", "sh", "-c", script])
        // The worker may say first why it starts another process.
        while case let line = try await worker.errors.readLine(), line != "has" { try #require(!line.isEmpty) }
        try await eventually { isGone(left) }
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await worker.output.readToEnd() == Array("go\n".utf8))
        let messages = try await tool.succeed(["log", "q", "--json"]).objects()
        #expect(messages.map { $0["state"].text } == ["scheduled", "done"])
        #expect(messages[0]["attempts"][0]["error"].text == "ended without an answer: exit status 3")
    }

    /// Whether nobody has the other end of a pipe any more that somebody had.
    private func isGone(_ pipe: FileDescriptor) -> Bool {
        var request = pollfd(fd: pipe.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLHUP) != 0
    }
}
