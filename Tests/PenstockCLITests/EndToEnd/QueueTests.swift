import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct QueueTests {
    @Test func aQueueHasTheDefaultPolicyUnlessItIsToldOtherwise() async throws {
        let tool = try Tool.empty()
        #expect(try await tool.succeed(["queue", "create", "plain"]).output == "Queue plain created.\n")
        try await tool.succeed([
            "queue", "create", "bounded", "--capacity", "10", "--when-full", "drop-oldest", "--attempts", "3",
            "--retry-base", "250ms", "--retry-factor", "1.5", "--retry-cap", "1m", "--retry-jitter", "0",
            "--retain-age", "1d", "--retain-count", "5", "--retain-dead", "30d",
        ])
        let plain = try await tool.succeed(["queue", "show", "plain", "--json"]).object()["policy"]
        #expect(plain["capacity"].isNull)
        #expect(plain["retry"]["attemptsMax"].number == 10)
        #expect(plain["retention"]["ageSeconds"].number == 604_800)
        #expect(plain["retention"]["deadAgeSeconds"].isNull)
        let bounded = try await tool.succeed(["queue", "show", "bounded", "--json"]).object()["policy"]
        #expect(bounded["capacity"]["count"].number == 10)
        #expect(bounded["capacity"]["whenFull"].text == "dropOldest")
        #expect(bounded["retry"]["baseSeconds"].number == 0.25)
        #expect(bounded["retry"]["factor"].number == 1.5)
        #expect(bounded["retry"]["capSeconds"].number == 60)
        #expect(bounded["retention"]["ageSeconds"].number == 86_400)
        #expect(bounded["retention"]["count"].number == 5)
        #expect(bounded["retention"]["deadAgeSeconds"].number == 2_592_000)
    }

    @Test func aBoundFailsUnlessItIsToldOtherwise() async throws {
        let tool = try await Tool.withQueue("--capacity", "1")
        let policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(policy["capacity"]["whenFull"].text == "fail")
    }

    @Test func setChangesOnlyWhatIsGiven() async throws {
        let tool = try await Tool.withQueue("--capacity", "10", "--when-full", "wait", "--attempts", "3")
        try await tool.succeed(["queue", "set", "q", "--capacity", "20", "--retain-age", "none"])
        var policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(policy["capacity"]["count"].number == 20)
        #expect(policy["capacity"]["whenFull"].text == "wait")
        #expect(policy["retry"]["attemptsMax"].number == 3)
        #expect(policy["retention"]["ageSeconds"].isNull)
        try await tool.succeed(["queue", "set", "q", "--capacity", "none"])
        policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(policy["capacity"].isNull)
    }

    @Test func aQueueIsMadeOnce() async throws {
        let tool = try await Tool.withQueue("--attempts", "3")
        try await tool.fail(["queue", "create", "q"], with: 73, saying: "'q'")
        let again = try await tool.succeed(["queue", "create", "q", "--if-absent", "--attempts", "5"])
        #expect(again.output == "", "It says nothing of what it has not done.")
        let said = try await tool.succeed(["queue", "create", "q", "--if-absent", "--json"]).object()
        #expect(said["created"].number == 0)
        let made = try await tool.succeed(["queue", "create", "other", "--if-absent", "--json"]).object()
        #expect(made["created"].number == 1)
        let policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(policy["retry"]["attemptsMax"].number == 3)
    }

    @Test func aPausedQueueGivesNothing() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "pause", "q"])
        try await tool.succeed(["enqueue", "q", "x"])
        #expect(try await tool.succeed(["work", "q", "--drain", "--", "cat"]).output == "")
        #expect(try await tool.succeed(["queue", "show", "q", "--json"]).object()["isPaused"].flag == true)
        try await tool.succeed(["queue", "resume", "q"])
        #expect(try await tool.succeed(["work", "q", "--drain", "--", "cat"]).output == "x")
    }

    @Test func aQueueWithMessagesIsRemovedByForceOnly() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        try await tool.fail(["queue", "delete", "q"], with: 64, saying: "with force (`--force`)")
        try await tool.succeed(["queue", "delete", "q", "--force"])
        #expect(try await tool.succeed(["queue", "list", "--json"]).output == "")
        try await tool.fail(["enqueue", "q", "x"], with: 66, saying: "no queue 'q'")
    }

    @Test func queuesAreListedByName() async throws {
        let tool = try await Tool.withQueue("--capacity", "5", "--when-full", "wait")
        try await tool.succeed(["queue", "create", "a queue"])
        let lines = try await tool.succeed(["queue", "list"]).lines
        #expect(
            lines == [
                "QUEUE    STATE  CAPACITY  WHEN FULL  ATTEMPTS  RETRY     RETAIN  GROUPS  LIMIT",
                "a queue  open       none                   10  1s to 1h  7d      none    none",
                "q        open          5  wait             10  1s to 1h  7d      none    none",
            ])
        let details = try await tool.succeed(["queue", "show", "q"]).lines
        #expect(details.contains("capacity  5, when full wait"))
        #expect(details.contains("retry     after 1s, times 2.0, at most 1h, jitter 0.5"))
    }

    @Test func statusCountsQueuesAndWorkers() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n".utf8))
        try await tool.succeed(["enqueue", "q", "later", "--delay", "1h"])
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo started; read -r _ < \(gate.path)"])
        #expect(try await worker.output.readLine() == "started")
        let status = try await tool.succeed(["status", "--json"]).object()
        #expect(status["queues"].count == 1)
        #expect(status["queues"][0]["depths"]["ready"].number == 1)
        #expect(status["queues"][0]["depths"]["leased"].number == 1)
        #expect(status["queues"][0]["depths"]["scheduled"].number == 1)
        #expect(status["queues"][0]["totals"]["enqueued"].number == 3)
        #expect(status["queues"][0]["oldestLease"].text.hasSuffix("Z"))
        #expect(status["workers"].count == 1)
        #expect(status["workers"][0]["isAlive"].flag == true)
        #expect(status["workers"][0]["leased"].number == 1)
        #expect(status["workers"][0]["processID"].number == Double(worker.processID))
        let table = try await tool.succeed(["status", "q"]).output
        let titles = table.prefix { $0 != "\n" }.split(separator: " ").prefix(10).joined(separator: " ")
        #expect(titles == "QUEUE STATE CAPACITY PENDING SCHEDULED BLOCKED READY FOR LEASED FOR")
        #expect(table.contains("WORKER  NAME"))
        try gate.open()
        #expect(try await worker.status == .exited(0))
    }

    @Test func statusLooksAgainAndAgain() async throws {
        let tool = try await Tool.withQueue()
        let watch = try await Running.start(tool, ["status", "--watch", "--interval", "10ms", "--json"])
        let first = try JSONObject(try await watch.output.readLine().prefix { $0 != "\n" }.description)
        #expect(first["queues"][0]["depths"]["ready"].number == 0)
        try await tool.succeed(["enqueue", "q", "x"])
        while case let line = try await watch.output.readLine(), !line.contains(#""ready":1"#) {
            try #require(!line.isEmpty)
        }
        watch.signal(15)
        #expect(try await watch.status == .signaled(15))
    }
}
