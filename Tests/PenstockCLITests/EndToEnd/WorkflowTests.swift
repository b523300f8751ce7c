import Subprocess
import Testing

/// `penstock workflow`, on a file.
@Suite(.timeLimit(.minutes(5)))
struct WorkflowTests {
    private static let order = #"""
        {"name": "order-17", "tasks": [
          {"name": "charge", "queue": "q", "payload": {"b": [1, 2.5, null], "a": "x/y"}, "priority": 3},
          {"name": "pack", "queue": "q", "payload": "book 17", "after": "charge", "headers": {"kind": "a"}},
          {"name": "mail", "queue": "q", "payloadBase64": "/wA=", "after": ["pack", {"task": "charge"}]},
          {"name": "report", "queue": "q", "after": [{"task": "pack", "need": "ended"}], "delay": "1h"},
          {"name": "audit", "queue": "q", "after": [{"task": "pack", "whenDead": "hold"}], "attempts": 2}]}
        """#

    private func started() async throws -> Tool {
        let tool = try await Tool.withQueue()
        let end = try await tool.succeed(["workflow", "run", "-"], input: Array(Self.order.utf8))
        #expect(end.output == "Workflow order-17 started with 5 tasks.\n")
        return tool
    }

    @Test func aWorkflowIsStartedAndShown() async throws {
        let tool = try await started()
        let shown = try await tool.succeed(["workflow", "show", "order-17", "--json"]).object()
        #expect(shown["state"].text == "running" && shown["counts"]["pending"].number == 4)
        #expect((0..<5).map { shown["tasks"][$0]["task"].text } == ["charge", "pack", "mail", "report", "audit"])
        #expect(shown["tasks"][2]["after"][1]["whenDead"].text == "cancel")
        #expect(shown["tasks"][3]["after"][0]["need"].text == "ended")
        #expect(shown["tasks"][4]["after"][0]["whenDead"].text == "hold")
        let lines = try await tool.succeed(["workflow", "show", "order-17"]).lines
        #expect(lines[0].hasPrefix("order-17 running, started "))
        #expect(lines.contains { $0.hasPrefix("mail") && $0.hasSuffix("charge, pack") }, "\(lines)")
        #expect(try await tool.succeed(["workflow", "list"]).lines.count == 2)
        #expect(try await tool.succeed(["workflow", "list", "--json"]).object()["workflow"].text == "order-17")
        #expect(try await tool.succeed(["show", "1", "--payload"]).output == #"{"b": [1, 2.5, null], "a": "x/y"}"#)
        #expect(try await tool.succeed(["show", "3", "--payload"]).bytes == [0xFF, 0])
        #expect(try await tool.succeed(["status", "--json"]).object()["queues"][0]["depths"]["pending"].number == 4)
        #expect(try await tool.succeed(["list", "q", "--state", "pending", "--json"]).objects().count == 4)
    }

    @Test func theLastOnesAreListed() async throws {
        let tool = try await started()
        let second = #"{"name": "second", "tasks": [{"name": "a", "queue": "q"}]}"#
        try await tool.succeed(["workflow", "run", "-"], input: Array(second.utf8))
        let last = try await tool.succeed(["workflow", "list", "--last", "1", "--json"])
        #expect(try last.objects().map { $0["workflow"].text } == ["second"] && last.errors == "")
        try await tool.fail(["workflow", "list", "--last", "0"], with: 64, saying: "--last")
    }

    @Test func aSecondStartSaysThatThereIsOne() async throws {
        let tool = try await started()
        let again = try await tool.succeed(["workflow", "run", "-"], input: Array(Self.order.utf8))
        #expect(again.output == "There is a workflow order-17 already; nothing was enqueued.\n")
        let other = try await tool.succeed(
            ["workflow", "run", "-", "--name", "order-18", "--json"], input: Array(Self.order.utf8)
        ).object()
        #expect(other["workflow"].text == "order-18" && other["isNew"].flag == true)
        #expect(other["tasks"][1]["state"].text == "pending" && other["tasks"].count == 5)
    }

    @Test func tasksRunInOrderAndKnowTheirPlace() async throws {
        let tool = try await started()
        let end = try await tool.succeed([
            "work", "q", "--drain", "--result", "--", "sh", "-c",
            #"echo "$PENSTOCK_WORKFLOW $PENSTOCK_TASK $PENSTOCK_SEQUENCE" >&2; printf "gave %s" "$PENSTOCK_TASK""#,
        ])
        #expect(end.output == "")
        let ran = end.errors.split(separator: "\n").map(String.init)
        #expect(ran.first == "order-17 charge 1" && Set(ran).count == 4, "\(ran)")
        #expect(try await tool.succeed(["workflow", "result", "order-17", "charge"]).output == "gave charge")
        #expect(try await tool.succeed(["show", "1", "--result"]).output == "gave charge")
        let shown = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(shown["task"].text == "charge" && shown["result"].text == "gave charge")
        #expect(try await tool.succeed(["show", "1"]).output.contains("charge of order-17"))
        try await tool.fail(["workflow", "result", "order-17", "report"], with: 66, saying: "has no result")
        try await tool.fail(["workflow", "result", "order-17", "x"], with: 66, saying: "'x'")
        // The report is due an hour after the end of what it waited for.
        #expect(try await tool.succeed(["show", "4", "--json"]).object()["state"].text == "scheduled")
    }

    @Test func aResultThatIsTooLargeFailsTheAttempt() async throws {
        let tool = try await Tool.withQueue("--attempts", "1")
        try await tool.succeed(["enqueue", "q", "x"])
        _ = try await tool.run(["work", "q", "--drain", "--result", "--", "head", "-c", "1048577", "/dev/zero"])
        let shown = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(shown["state"].text == "dead")
        #expect(shown["attempts"][0]["error"].text.contains("resultBytesMax"))
        try await tool.succeed(["enqueue", "q", "y"])
        try await tool.succeed(["work", "q", "--drain", "--result", "--", "head", "-c", "1048576", "/dev/zero"])
        #expect(try await tool.succeed(["show", "2", "--result"]).bytes.count == 1_048_576)
    }

    @Test func linesAreTasksToo() async throws {
        let tool = try await Tool.withQueue()
        let lines = #"{"name":"a","payload":1}"# + "\n\n" + #"{"name":"b","after":["a"],"queue":"q"}"# + "\n"
        let end = try await tool.succeed(["workflow", "run", "-", "--queue", "q"], input: Array(lines.utf8))
        #expect(end.output == "Workflow workflow-1 started with 2 tasks.\n")
        let one = try await tool.succeed(
            ["workflow", "run", "-", "--queue", "q", "--name", "one"], input: Array(#"{"name":"a"}"#.utf8))
        #expect(one.output == "Workflow one started with 1 task.\n")
    }

    @Test(arguments: [
        ("", "it is empty"), ("[1]", "no JSON object"), ("{", "no JSON"), (#"{"tasks": []}"#, "at least one task"),
        (#"{"tasks": [{"queue": "q"}]}"#, "lacks \"name\""), (#"{"tasks": [{"name": "a"}]}"#, "'a' has no \"queue\""),
        (#"{"tasks": [{"name": "a", "queue": "q", "afer": "b"}]}"#, "no \"afer\""),
        (#"{"tasks": [{"name": "a", "queue": "q", "after": "b"}]}"#, "'a' waits for 'b'"),
        (#"{"tasks": [{"name": "a", "queue": "q"}, {"name": "a", "queue": "q"}]}"#, "Two tasks are called 'a'"),
        (#"{"tasks": [{"name": "a", "queue": "q", "priority": "high"}]}"#, "priority"),
        (#"{"tasks": [{"name": "a", "queue": "q", "delay": "soon"}]}"#, "'a': 'soon' is no duration"),
        (#"{"tasks": [{"name": "a", "queue": "q", "payload": 1, "payloadBase64": ""}]}"#, "'a': it has a \"payload\""),
        (#"{"tasks": [{"name": "a", "queue": "q", "after": [{"task": "b", "need": "x"}]}]}"#, "done or ended"),
        ("{\"name\": \"a\"}\n{\"name\": 5}", "Line 2 is no task"), ("{\"name\": \"a\"}\nnonsense\n", "Line 2"),
        (#"{"tasks": [{"name": "a", "queue": "none"}]}"#, "'none'"),
    ])
    func whatCannotBeIsSaidAndNothingIsEnqueued(input: String, words: String) async throws {
        let tool = try await Tool.withQueue()
        let end = try await tool.run(["workflow", "run", "-"], input: Array(input.utf8))
        #expect(end.status == .exited(words == "'none'" ? 66 : 64), "\(end.errors)")
        #expect(end.errors.contains(words), "\(end.errors)")
        #expect(try await tool.succeed(["status", "--json"]).object()["queues"][0]["totals"]["enqueued"].number == 0)
    }

    @Test(arguments: ["\n", " \n\n", ""]) func blankLinesAreNoTasks(blank: String) async throws {
        let tool = try await Tool.withQueue()
        let line = #"{"name": "a", "queue": "q"}"#
        try await tool.succeed(["workflow", "run", "-"], input: Array((blank + line + "\n" + blank).utf8))
        let second = #"{"name": "b", "queue": "q"}"#
        try await tool.succeed(["workflow", "run", "-"], input: Array((blank + line + "\n" + blank + second).utf8))
        #expect(try await tool.succeed(["status", "--json"]).object()["queues"][0]["totals"]["enqueued"].number == 3)
    }

    @Test func aWorkflowIsCancelled() async throws {
        let tool = try await started()
        #expect(
            try await tool.succeed(["workflow", "cancel", "order-17"]).output
                == "5 tasks of workflow order-17 cancelled.\n")
        #expect(try await tool.succeed(["workflow", "list", "--json"]).object()["state"].text == "cancelled")
        for command in [["show"], ["cancel"], ["graph"], ["result", "x"], ["emit", "e"]] {
            let arguments = ["workflow", command[0], "none"] + command.dropFirst()
            try await tool.fail(arguments, with: 66, saying: "'none'")
        }
    }

    @Test func anEventIsEmittedOnce() async throws {
        let tool = try await started()
        let emit = ["workflow", "emit", "order-17", "approved", #"{"by":"Grace"}"#]
        #expect(try await tool.succeed(emit).output == "Event approved emitted.\n")
        #expect(try await tool.succeed(emit).output == "There was an event approved before, which stays.\n")
        #expect(
            try await tool.succeed(["workflow", "emit", "--message", "1", "seen", "--json"]).object()["isFirst"].flag
                == true)
        try await tool.fail(["workflow", "emit", "--message", "99", "seen"], with: 66, saying: "99")
        #expect(try await tool.run(["workflow", "emit", "order-17"]).status == .exited(64))
    }

    @Test func namesInAGraphAreNoWordsOfItsLanguage() async throws {
        let tool = try await Tool.withQueue()
        let tasks =
            #"{"name":"a\"];x","queue":"q"}"# + "\n"
            + #"{"name":"end","queue":"q","after":[{"task":"a\"];x","need":"ended"}]}"#
        try await tool.succeed(["workflow", "run", "-", "--name", "\"w"], input: Array(tasks.utf8))
        #expect(
            try await tool.succeed(["workflow", "graph", "\"w"]).lines == [
                #"digraph "\"w" {"#, "  node [shape=box];", #"  t1 [label="a\"];x\nready"];"#,
                #"  t2 [label="end\npending"];"#, "  t1 -> t2 [style=dotted];", "}",
            ])
        #expect(
            try await tool.succeed(["workflow", "graph", "\"w", "--format", "mermaid"]).lines == [
                "flowchart TD", #"  t1["a#34;#93;#59;x<br/>ready"]"#, #"  t2["end<br/>pending"]"#, "  t1 -.-> t2",
            ])
    }
}
