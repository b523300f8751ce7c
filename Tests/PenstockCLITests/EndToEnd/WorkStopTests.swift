import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct WorkStopTests {
    /// Starts a worker on one message, and returns when the command has said that it started.
    private func start(_ tool: Tool, _ options: [String] = [], _ script: String) async throws -> Running {
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n".utf8))
        let worker = try await Running.start(tool, ["work", "q"] + options + ["--", "sh", "-c", script])
        #expect(try await worker.output.readLine() == "started")
        return worker
    }

    private func messages(_ tool: Tool) async throws -> [String] {
        try await tool.succeed(["log", "q", "--json"]).objects().map {
            "\($0["state"].text) \(Int($0["attempt"].number ?? -1))"
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func oneSignalLetsWhatRunsEnd(signal: Int32) async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        let worker = try await start(tool, [], "echo started; read -r _ < \(gate.path)")
        worker.signal(signal)
        #expect(
            try await worker.errors.readLine().hasPrefix("penstock: Stopping; commands that run have 30s to end"))
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await messages(tool) == ["done 1", "ready 0"])
    }

    /// It would write for ever, and nothing that it still does can help its message.
    @Test func aCommandThatWritesMoreThanIsKeptIsStopped() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x", "--attempts", "1"])
        _ = try await tool.run(["work", "q", "--max", "1", "--result", "--", "yes"])
        let attempt = try await tool.succeed(["show", "1", "--json"]).object()["attempts"][0]
        #expect(attempt["error"].text.contains("more than 1048576 bytes"))
        #expect(try await messages(tool) == ["dead 1"])
    }

    /// What it does not let end within the grace is told to stop, and given back.
    @Test func afterTheGraceCommandsAreStoppedAndGivenBack() async throws {
        let tool = try await Tool.withQueue()
        let worker = try await start(
            tool, ["--grace", "10ms"], "trap 'echo stopped; exit 1' TERM; echo started; sleep 1000 & wait")
        worker.signal(SIGTERM)
        #expect(try await worker.status == .exited(0))
        #expect(try await worker.output.readToEnd() == Array("stopped\n".utf8))
        #expect(try await messages(tool) == ["ready 0", "ready 0"])
    }

    /// It has done what it had to, and would do it once more.
    @Test(arguments: [[], ["--result"], ["--into", "q2"]])
    func aCommandThatFinishesWhenItIsToldToStopIsDone(output: [String]) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "q2"])
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n".utf8))
        let script = "trap 'echo finished; exit 0' TERM; echo started >&2; sleep 1000 & wait"
        let worker = try await Running.start(
            tool, ["work", "q", "--grace", "10ms"] + output + ["--", "sh", "-c", script])
        #expect(try await worker.errors.readLine() == "started")
        worker.signal(SIGTERM)
        #expect(try await worker.status == .exited(0))
        #expect(try await messages(tool) == ["done 1", "ready 0"])
        if output.first == "--into" {
            #expect(try await tool.succeed(["list", "q2", "--json"]).objects().count == 1)
        }
    }

    /// Nobody else gets a message while the command that works on it still takes its leave.
    @Test func aMessageIsGivenBackOnceItsCommandHasEnded() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        let worker = try await start(
            tool, ["--grace", "10ms", "--stop-time", "1h"],
            "trap 'echo leaving; read -r _ < \(gate.path); exit 1' TERM; echo started; sleep 1000 & wait")
        worker.signal(SIGTERM)
        #expect(try await worker.output.readLine() == "leaving")
        #expect(try await messages(tool) == ["leased 1", "ready 0"])
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await messages(tool) == ["ready 0", "ready 0"])
    }

    @Test(arguments: [(SIGTERM, 143), (SIGINT, 130)] as [(Int32, Int32)])
    func aSecondSignalKillsAndGivesBackAtOnce(signal: Int32, status: Int32) async throws {
        let tool = try await Tool.withQueue()
        let worker = try await start(
            tool, ["--stop-time", "1h"],
            "trap '' TERM INT; (trap '' TERM; exec sleep 1000) & echo started; sleep 1000")
        worker.signal(signal)
        #expect(try await worker.errors.readLine().hasPrefix("penstock: Stopping; "))
        worker.signal(signal)
        #expect(try await worker.status == .exited(status))
        #expect(try await worker.output.readToEnd() == [])
        #expect(try await messages(tool) == ["ready 0", "ready 0"])
    }

    /// As timeout(1) signals its child, and then the whole group that the child is in.
    @Test func aSignalThatComesWithTheFirstIsTheFirst() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        let worker = try await start(tool, [], "echo started; read -r _ < \(gate.path)")
        // Stopped, it meets both at once.
        worker.signal(SIGSTOP)
        worker.signal(SIGTERM)
        worker.signal(SIGINT)
        worker.signal(SIGCONT)
        #expect(
            try await worker.errors.readLine().hasPrefix("penstock: Stopping; commands that run have 30s to end"))
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await messages(tool) == ["done 1", "ready 0"])
    }

    /// A worker that is killed can do nothing any more. Its command, the command's child and grandchild end all the
    /// same: each holds the pipe that is read to its end here. The next worker gets the message at once.
    @Test func nothingOutlivesAKilledWorker() async throws {
        let tool = try await Tool.withQueue()
        let worker = try await start(
            tool, [], "trap '' TERM HUP; (sh -c 'sleep 1000 & sleep 1000' & sleep 1000) & echo started; sleep 1000")
        worker.signal(SIGKILL)
        #expect(try await worker.status == .signaled(SIGKILL))
        #expect(try await worker.output.readToEnd() == [])
        // The lease has most of its thirty seconds left, so that it is back is the kernel's word alone.
        let next = try await tool.succeed(["work", "q", "--max", "1", "--", "sh", "-c", "echo $PENSTOCK_SEQUENCE"])
        #expect(next.output == "1\n")
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "done")
        #expect(message["attempts"][0]["outcome"].text == "workerDied")
    }

    @Test func aWorkerWaitsForMessages() async throws {
        let tool = try await Tool.withQueue()
        let worker = try await start(tool, ["--max", "3"], "echo started")
        #expect(try await worker.output.readLine() == "started")
        try await tool.succeed(["enqueue", "q", "3"])
        #expect(try await worker.output.readLine() == "started")
        #expect(try await worker.status == .exited(0))
    }
}
