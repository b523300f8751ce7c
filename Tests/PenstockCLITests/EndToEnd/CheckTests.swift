import Subprocess
import Testing

/// The four statuses of plugins, and the four forms.
@Suite(.timeLimit(.minutes(5)))
struct CheckTests {
    @Test func statusesAreThoseOfPlugins() async throws {
        let tool = try await Tool.withQueue("--capacity", "10")
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\nc\n".utf8))
        for (arguments, status): ([String], Int32) in [
            (["--all"], 0), (["q", "--max-ready", "3"], 0), (["q", "--max-ready", "2,3"], 1),
            (["q", "--max-ready", "2"], 2), (["--all", "--min-workers", "1"], 2), (["q", "--max-used", "29"], 2),
            (["q", "--max-used", "30"], 0),
        ] {
            let outcome = try await tool.run(["check"] + arguments)
            #expect(outcome.status == .exited(status), "\(arguments): \(outcome.output)\(outcome.errors)")
            #expect(outcome.errors == "")
            #expect(outcome.lines.count == 1)
        }
    }

    @Test func whereNothingCanBeSaidThatIsSaid() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(["check"], with: 3, saying: "Name a queue, or write --all; ")
        try await tool.fail(["check", "--wrong"], with: 3, saying: "--wrong")
        try await tool.fail(["check", "none"], with: 3, saying: "no queue 'none'")
        try await tool.fail(["check", "--all", "--db", "nowhere.db"], with: 3, saying: "no Penstock file")
        for arguments in [
            [], ["q", "--all"], ["q", "--max-ready", "x"], ["q", "--max-ready", "5,2"], ["q", "--wrong"],
        ] {
            try await tool.fail(["check"] + arguments, with: 3, saying: "penstock check")
        }
        let outcome = try await tool.run(["check", "none", "--format", "nagios"])
        #expect(outcome.status == .exited(3))
        #expect(outcome.output.hasPrefix("PENSTOCK UNKNOWN - There is no queue 'none'"))
        #expect(outcome.errors == "")
    }

    @Test func everyFormSaysTheSame() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "a"])
        let bounds = ["--max-ready", "0", "--max-dead", "0,1"]
        let nagios = try await tool.run(["check", "q", "--format", "nagios"] + bounds)
        #expect(nagios.status == .exited(2))
        #expect(
            nagios.lines == [
                "PENSTOCK CRITICAL - queue q: 1 message ready, at most 0 | 'q ready'=1;;0;0 'q dead'=0;0;1;0"
            ])
        let json = try await tool.run(["check", "q", "--format", "json"] + bounds)
        #expect(json.status == .exited(2))
        #expect(try json.object()["status"].text == "critical")
        #expect(try json.object()["checks"].count == 2)
        let prometheus = try await tool.run(["check", "--all", "--format", "prometheus"] + bounds)
        #expect(prometheus.status == .exited(2))
        #expect(prometheus.lines.contains(#"penstock_check_status{queue="q",check="ready"} 2"#))
        #expect(prometheus.lines.contains(#"penstock_check_status{queue="q",check="dead"} 0"#))
        #expect(prometheus.lines.contains(#"penstock_queue_messages{queue="q",state="ready"} 1"#))
    }
}
