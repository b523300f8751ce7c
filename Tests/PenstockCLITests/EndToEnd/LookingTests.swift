import PenstockTestKit
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LookingTests {
    @Test func aListShowsWhatWaitsOrRuns() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("done\nready\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        let day = ComingDay(month: 1, day: 31).text
        try await tool.succeed(["enqueue", "q", "later", "--at", "\(day)T08:30:00Z"])
        let lines = try await tool.succeed(["list"]).lines
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("SEQUENCE  QUEUE  STATE      ATTEMPT  PRIORITY  ENQUEUED"))
        #expect(lines[1].hasPrefix("       2  q      ready      0/10            0  "))
        #expect(lines[1].hasSuffix("  ready"))
        #expect(lines[2].contains("  \(day)T08:30:00Z      5  later"))
        #expect(try await tool.payloads("done,scheduled") == ["done", "later"])
    }

    /// Another file in the place of the one that is looked at: what was there will never change again.
    @Test(arguments: [["log", "q", "--follow"], ["status", "--watch", "--interval", "10ms"]], [true, false])
    func whoeverGoesOnLookingEndsWithTheFile(arguments: [String], isReplaced: Bool) async throws {
        let (tool, other) = (try await Tool.withQueue(), try await Tool.withQueue())
        try await tool.succeed(["enqueue", "q", "x"])
        let looking = try await Running.start(tool, arguments)
        _ = try await looking.output.readLine()
        if isReplaced {
            #expect(rename("\(other.folder)/test.db", "\(tool.folder)/test.db") == 0)
        } else {
            #expect(unlink("\(tool.folder)/test.db") == 0)
        }
        #expect(try await looking.status == .exited(74))
        #expect(try await looking.errors.readLine().contains("test.db was removed or replaced while it was open"))
    }

    /// What a message that runs says of itself, as programs that work write it down.
    @Test func whatRunsIsShownWithItsProgress() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool, ["work", "q", "--max", "1", "--", "sh", "-c", "echo began; read -r _ < \(gate.path)"])
        #expect(try await worker.output.readLine() == "began")
        #expect(
            try await tool.sql(
                "INSERT INTO penstock_progress VALUES (1, 423999, 'page \u{7} 3', 0); "
                    + "UPDATE penstock_lease SET marks = marks | 256; "
                    + "SELECT sequence, fraction, cancel_requested FROM penstock_running") == "1|0.423999|0\n")
        let lines = try await tool.succeed(["show", "1"]).lines
        #expect(lines.contains { $0.hasPrefix("progress") && $0.contains("42% page ") && !$0.contains("\u{7}") })
        let shown = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(shown["progress"]["text"].text == "page \u{7} 3")
        #expect(shown["leaseEndsAt"].text > shown["claimedAt"].text)
        #expect(lines.contains { $0.hasPrefix("lease ") && $0.contains(" until 2") })
        try gate.open()
        #expect(try await worker.status == .exited(0))
        #expect(try await tool.sql("SELECT count(*) FROM penstock_progress") == "0\n")
        #expect(try await tool.succeed(["doctor"]).status == .exited(0))
    }

    @Test func aListIsALimitedStretch() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(
            ["enqueue", "q", "--lines"], input: Array((1...50).map(String.init).joined(separator: "\n").utf8))
        func listed(_ options: String...) async throws -> [String] {
            try await tool.succeed(["list", "q", "--json"] + options).objects().map { $0["payload"].text }
        }
        #expect(try await listed("--limit", "3") == ["1", "2", "3"])
        #expect(try await listed("--last", "2") == ["49", "50"])
        #expect(try await listed("--from", "48") == ["48", "49", "50"])
        #expect(try await listed("--since", "+1h") == [])
        #expect(try await listed("--since", "-1h", "--limit", "50").count == 50)
        let cut = try await tool.succeed(["list", "q", "--limit", "49"])
        #expect(cut.errors == "penstock: There are more than these 49; use --limit or --from to see others.\n")
        #expect(try await tool.succeed(["list", "q", "--limit", "50"]).errors == "")
    }

    /// More than it takes is not advised.
    @Test func aListOfAsManyAsThereCanBeSaysHowToSeeOthers() async throws {
        let tool = try await Tool.withQueue()
        let lines = Array(String(repeating: "x\n", count: 10_001).utf8)
        try await tool.succeed(["enqueue", "q", "--lines"], input: lines)
        let cut = try await tool.succeed(["list", "q", "--limit", "10000"])
        #expect(cut.errors == "penstock: There are more than these 10000; use --from to see others.\n")
    }

    @Test func nothingThatIsShownCanHarmATerminal() async throws {
        let tool = try await Tool.withQueue()
        let hostile = Array("\u{1B}[2J\u{7}\r\n\u{202E}gpj.exe\u{9B}31m".utf8) + [0xFF]
        try await tool.succeed(["enqueue", "q", "--header", "h=\u{1B}[31m", "--key", "\u{1B}c"], input: hostile)
        try await tool.succeed([
            "work", "q", "--drain", "--", "sh", "-c", #"printf '\033[31mred\n\377' >&2; exit 65"#,
        ])
        for arguments in [
            ["list", "--state", "dead"], ["show", "1"], ["show", "1", "--json"], ["log", "q"], ["dead", "list"],
            ["log", "q", "--json"],
        ] {
            let shown = try await tool.succeed(arguments).output
            let controls = shown.unicodeScalars.filter { $0 != "\n" && $0.properties.generalCategory == .control }
            #expect(controls.isEmpty, "\(arguments)")
            #expect(!shown.contains("\u{202E}"), "\(arguments)")
        }
        #expect(
            try await tool.succeed(["show", "1"]).output.contains(#"\x1B[2J\x07\r\n\u{202E}gpj.exe\u{9B}31m\xFF"#))
        #expect(try await tool.succeed(["dead", "list"]).output.contains(#"exit status 65: \x1B[31mred\n\\xFF"#))
    }

    @Test func aMessageIsShownWithAllThatHappenedToIt() async throws {
        let tool = try await Tool.withQueue("--retry-base", "0s", "--attempts", "2")
        try await tool.succeed(["enqueue", "q", "hello", "--header", "b=2", "--header", "a=1", "--key", "k"])
        try await tool.succeed(["work", "q", "--max", "2", "--", "sh", "-c", "echo no >&2; exit 9"])
        let lines = try await tool.succeed(["show", "1"]).lines
        #expect(lines[0] == "sequence   1")
        #expect(lines.contains("state      dead (attemptsExhausted)"))
        #expect(lines.contains("attempt    2 of 2"))
        #expect(lines.contains("key        k"))
        #expect(lines.filter { $0.hasPrefix("header") } == ["header     a=1", "header     b=2"])
        #expect(lines.count { $0.hasPrefix("attempt ") && $0.hasSuffix(": exit status 9: no") } == 2)
        #expect(lines.last == "payload    5 bytes: hello")
        try await tool.fail(["show", "2"], with: 66, saying: "no message 2")
    }

    @Test func theLogIsEverythingInOrder() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\nc\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        let lines = try await tool.succeed(["log", "q"]).lines
        #expect(
            lines.map { $0.split(separator: "  ").dropFirst().joined(separator: "|") } == [
                "1|done|a", "2|ready|b", "3|ready|c",
            ])
        #expect(try await tool.succeed(["log", "q", "--from", "2", "--json"]).objects().count == 2)
        #expect(try await tool.succeed(["log", "q", "--last", "1", "--json"]).object()["payload"].text == "c")
        #expect(try await tool.succeed(["log", "q", "--state", "done", "--json"]).object()["payload"].text == "a")
    }

    @Test func theLogIsFollowed() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\n".utf8))
        let log = try await Running.start(tool, ["log", "q", "--last", "1", "--follow", "--json"])
        #expect(try JSONObject(try await log.output.readLine())["payload"].text == "b")
        try await tool.succeed(["enqueue", "q", "c"])
        #expect(try JSONObject(try await log.output.readLine())["payload"].text == "c")
        log.signal(15)
        #expect(try await log.status == .signaled(15))
    }

    @Test func theDoctorFindsASoundFileSound() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(
            ["enqueue", "q", "--lines"],
            input: Array(repeating: Array("payload\n".utf8), count: 5000).flatMap { $0 })
        let sound = try await tool.succeed(["doctor"])
        #expect(sound.lines.allSatisfy { $0.hasPrefix("ok    ") })
        #expect(sound.lines.count >= 10)
        let report = try await tool.succeed(["doctor", "--json"]).object()
        #expect(report["isHealthy"].flag == true)
        #expect(report["findings"].count == 0)
        #expect(report["schemaVersion"] == report["schemaVersionKnown"])
    }
}
