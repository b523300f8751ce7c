import Testing

/// `penstock schedule`, on a file.
@Suite(.timeLimit(.minutes(5)))
struct ScheduleTests {
    @Test func aScheduleIsMadeAndShown() async throws {
        let tool = try await Tool.withQueue()
        let added = try await tool.succeed([
            "schedule", "add", "nightly", "0 3 * * *", "--zone", "Europe/Paris", "--queue", "q", "report", "--starts",
            "2090-06-01", "--priority", "5", "--header", "kind=a", "--unique", "--key-scope", "20h", "--jitter", "5m",
            "--missed", "all",
        ])
        #expect(added.output == "Schedule nightly fires next at 2090-06-01T01:00:00Z.\n")
        let shown = try await tool.succeed(["schedule", "show", "nightly", "--json"]).object()
        #expect(shown["queue"].text == "q" && shown["spec"].text == "0 3 * * *" && shown["zone"].text == "Europe/Paris")
        #expect(shown["nextDue"].text == "2090-06-01T01:00:00.000000Z" && shown["payload"].text == "report")
        #expect(shown["priority"].number == 5 && shown["headers"]["kind"].text == "a")
        #expect(shown["keyScope"].text == "period" && shown["keyPeriodSeconds"].number == 72_000)
        #expect(try await tool.succeed(["schedule", "show", "nightly"]).output.contains("schedule nightly, for 20h\n"))
        #expect(shown["uniqueKey"].text == "schedule nightly" && shown["jitterSeconds"].number == 300)
        #expect(
            try await tool.succeed(["schedule", "show", "nightly"]).output.contains("next      2090-06-01T01:00:00Z"))
        let lines = try await tool.succeed(["schedule", "list"]).lines
        #expect(lines.count == 2 && lines[1].hasPrefix("nightly"))
        let listed = try await tool.succeed(["schedule", "list", "--json"])
        #expect(try listed.objects().map { $0["schedule"].text } == ["nightly"])
        #expect(!listed.output.contains("firings"))
        let next = try await tool.succeed(["schedule", "next", "nightly", "--count", "2"])
        #expect(next.lines == ["2090-06-01T01:00:00Z", "2090-06-02T01:00:00Z"])
    }

    @Test func aScheduleIsPausedRunAndRemoved() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["schedule", "add", "s", "@yearly", "--queue", "q", "x", "--unique"])
        #expect(try await tool.succeed(["schedule", "pause", "s"]).output == "Schedule s paused.\n")
        #expect(try await tool.succeed(["schedule", "show", "s", "--json"]).object()["isPaused"].flag == true)
        let again = ["schedule", "add", "s", "@monthly", "--queue", "q", "x", "--unique", "--replace"]
        #expect(
            try await tool.succeed(again).output == "Schedule s is paused; it fires when it is resumed.\n")
        #expect(try await tool.succeed(["schedule", "resume", "s", "--json"]).object()["resumed"].flag == true)
        #expect(try await tool.succeed(["schedule", "run", "s"]).output == "1\n")
        #expect(try await tool.succeed(["schedule", "run", "s", "--json"]).object()["outcome"].text == "skipped")
        #expect(try await tool.succeed(["show", "1", "--payload"]).output == "x")
        #expect(try await tool.succeed(["schedule", "remove", "s"]).output == "Schedule s removed.\n")
        for command in ["show", "pause", "resume", "run", "remove", "next"] {
            try await tool.fail(["schedule", command, "s"], with: 66, saying: "no schedule 's'")
        }
    }

    /// No message waits, so no force is needed.
    @Test func aScheduleGoesWithItsQueue() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "other"])
        for (name, queue) in [("a", "q"), ("b", "q"), ("c", "other")] {
            try await tool.succeed(["schedule", "add", name, "@yearly", "--queue", queue, "x"])
        }
        #expect(try await tool.succeed(["queue", "delete", "q"]).output == "Queue q deleted.\n")
        let left = try await tool.succeed(["schedule", "list", "--json"]).objects()
        #expect(left.map { $0["schedule"].text } == ["c"])
    }

    @Test func whatCannotBeChangesNothing() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["schedule", "add", "s", "@daily", "--queue", "q", "x"])
        try await tool.fail(["schedule", "add", "s", "@hourly", "--queue", "q", "x"], with: 73, saying: "'s' already")
        try await tool.succeed(["schedule", "add", "s", "@hourly", "--queue", "q", "x", "--replace"])
        try await tool.fail(
            ["schedule", "add", "t", "0 0 30 2 *", "--queue", "q", "x"], with: 64, saying: "never fire")
        try await tool.fail(["schedule", "add", "t", "@daily", "--queue", "none", "x"], with: 66, saying: "'none'")
        try await tool.fail(
            ["schedule", "add", "t", "@daily", "--queue", "q", "x", "--zone", "Europe/Atlantis"], with: 64,
            saying: "no time zone")
        #expect(try await tool.succeed(["schedule", "list", "--json"]).objects().count == 1)
    }

    @Test func aListThatIsCutSaysSo() async throws {
        let tool = try await Tool.withQueue()
        for name in ["a", "b", "c"] {
            try await tool.succeed(["schedule", "add", name, "@daily", "--queue", "q", "x"])
        }
        for isJSON in [[], ["--json"]] {
            let list = ["schedule", "list"] + isJSON
            let cut = try await tool.succeed(list + ["--limit", "2"])
            #expect(cut.errors == "penstock: There are more than these 2; use --limit or --after to see others.\n")
            #expect(cut.lines.count == (isJSON.isEmpty ? 3 : 2))
            #expect(try await tool.succeed(list + ["--limit", "2", "--after", "a"]).errors == "")
            #expect(try await tool.succeed(list).errors == "")
        }
        #expect(
            try await tool.succeed(["schedule", "list", "--after", "b", "--json"]).objects().map { $0["schedule"].text }
                == ["c"])
        try await tool.fail(["schedule", "list", "--limit", "0"], with: 64, saying: "--limit is 1")
    }

    @Test func aWorkerFiresWhatIsDue() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["schedule", "add", "s", "@every 1s", "--queue", "q", "x"])
        let worked = try await tool.succeed(["work", "q", "--max", "2", "--", "cat"])
        #expect(worked.output == "xx")
        #expect((try await tool.succeed(["schedule", "show", "s", "--json"]).object()["firedCount"].number ?? 0) >= 2)
    }
}
