import Subprocess
import Testing

/// `penstock group`, `penstock limit`, and what goes with them.
@Suite(.timeLimit(.minutes(5)))
struct GroupTests {
    @Test func aGroupIsWorkedInOrder() async throws {
        let tool = try await Tool.withQueue("--fifo")
        for text in ["a1", "a2", "a3"] { try await tool.succeed(["enqueue", "q", text, "--group", "a"]) }
        try await tool.succeed(["enqueue", "q", "b1", "--group", "b"])
        try await tool.succeed(["enqueue", "q", "none"])
        let blocked = try await tool.succeed(["list", "q", "--state", "blocked", "--json"]).objects()
        #expect(blocked.map { $0["group"].text } == ["a", "a"])
        let status = try await tool.succeed(["status", "--json"]).object()
        #expect(status["queues"][0]["depths"]["blocked"].number == 2)
        #expect(
            try await tool.succeed(["group", "list", "q"]).output.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            } == ["GROUP STATE PERMITS BLOCKED", "a open 1 2", "b open 1 0"])
        let worked = try await tool.succeed([
            "work", "q", "--drain", "--concurrency", "4", "--", "sh", "-c",
            #"printf '%s %s\n' "${PENSTOCK_GROUP-none}" "$(cat)""#,
        ]).output.split(separator: "\n").map(String.init)
        #expect(worked.filter { $0.hasPrefix("a ") } == ["a a1", "a a2", "a a3"])
        #expect(Set(worked) == ["a a1", "a a2", "a a3", "b b1", "none none"])
        #expect(try await tool.succeed(["group", "list", "q", "--json"]).objects().isEmpty)
    }

    /// A script that looks for held groups would miss them.
    @Test func aListThatIsCutSaysSo() async throws {
        let tool = try await Tool.withQueue("--fifo")
        for key in ["a", "b", "c"] { try await tool.succeed(["enqueue", "q", "x", "--group", key]) }
        for isJSON in [[], ["--json"]] {
            let list = ["group", "list", "q"] + isJSON
            let cut = try await tool.succeed(list + ["--limit", "2"])
            #expect(cut.errors == "penstock: There are more than these 2; use --limit or --after to see others.\n")
            #expect(cut.lines.count == (isJSON.isEmpty ? 3 : 2))
            #expect(try await tool.succeed(list + ["--limit", "2", "--after", "a"]).errors == "")
            #expect(try await tool.succeed(list + ["--limit", "10000"]).errors == "")
        }
    }

    @Test func messagesOfAGroupAreListedAndCancelled() async throws {
        let tool = try await Tool.withQueue("--limit-per-key", "1")
        for (text, key) in [("1", "a"), ("2", "b"), ("3", "a"), ("4", "a")] {
            try await tool.succeed(["enqueue", "q", text, "--group", key])
        }
        let listed = try await tool.succeed(["list", "--group", "a", "--json"]).objects()
        #expect(listed.map { $0["payload"].text } == ["1", "3", "4"])
        #expect(
            try await tool.succeed(["cancel", "--queue", "q", "--group", "a", "--limit", "2"]).output
                == "2 messages cancelled.\n")
        let left = try await tool.succeed(["list", "--group", "a", "--json"]).objects()
        #expect(left.map { $0["payload"].text } == ["4"])
        #expect(try await tool.succeed(["list", "--group", "b", "--json"]).objects().count == 1)
    }

    @Test func aGroupIsPausedAndHeld() async throws {
        let tool = try await Tool.withQueue("--fifo", "--on-dead", "hold", "--attempts", "1")
        #expect(try await tool.succeed(["group", "pause", "q", "a"]).output == "Group a of q paused.\n")
        for text in ["a1", "a2"] { try await tool.succeed(["enqueue", "q", text, "--group", "a"]) }
        try await tool.succeed(["work", "q", "--drain", "--", "false"])
        #expect(try await tool.succeed(["list", "q", "--state", "blocked", "--json"]).objects().count == 2)
        try await tool.succeed(["group", "resume", "q", "a"])
        try await tool.succeed(["work", "q", "--drain", "--", "false"])
        let group = try await tool.succeed(["group", "list", "q", "--json"]).object()
        #expect(group["heldBy"].number == 1)
        #expect(group["blocked"].number == 1)
        #expect(try await tool.succeed(["group", "list", "q"]).output.contains("held by 1"))
        try await tool.succeed(["dead", "discard", "1"])
        #expect(try await tool.succeed(["work", "q", "--drain", "--", "cat"]).output == "a2")
    }

    /// What a server asks of one caller it asks of all that go there for the same one.
    @Test func aCommandPutsOffItsGroup() async throws {
        let tool = try await Tool.withQueue("--limit-per-key", "1")
        for text in ["a1", "a2"] { try await tool.succeed(["enqueue", "q", text, "--group", "a"]) }
        try await tool.succeed(["enqueue", "q", "b1", "--group", "b"])
        try await tool.succeed([
            "work", "q", "--drain", "--", "sh", "-c",
            "case $PENSTOCK_GROUP in a) echo 'Retry-After: 3600' >&2; exit 75;; esac",
        ])
        let group = try await tool.succeed(["group", "list", "q", "--json"]).object()
        #expect(group["group"].text == "a")
        #expect(group["heldUntil"].text.hasSuffix("Z"))
        let states = try await tool.succeed(["list", "q", "--json"]).objects().map { $0["state"].text }
        #expect(states.filter { $0 != "done" } == ["scheduled", "blocked"])
    }

    @Test func aQueueIsToldOfGroupsAndLimits() async throws {
        let tool = try await Tool.withQueue("--limit-per-key", "2", "--limit", "5")
        var policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(policy["groups"]["limitPerKey"].number == 2)
        #expect(policy["limit"].number == 5)
        #expect(policy["sharedLimit"].isNull)
        #expect(try await tool.succeed(["limit", "set", "db", "3"]).output == "Limit db set to 3.\n")
        try await tool.succeed([
            "queue", "set", "q", "--limit-per-key", "none", "--fifo", "--limit", "none", "--share-limit", "db",
        ])
        policy = try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        #expect(!policy["groups"]["fifo"].isNull)
        #expect(policy["groups"]["onDead"].text == "next")
        #expect(policy["limit"].isNull)
        #expect(policy["sharedLimit"].text == "db")
        #expect(try await tool.succeed(["queue", "show", "q"]).output.contains("groups    in order, on dead next\n"))
        let limit = try await tool.succeed(["limit", "list", "--json"]).object()
        #expect(limit["queues"][0].text == "q")
        #expect(limit["count"].number == 3)
        try await tool.fail(["limit", "remove", "db"], with: 64, saying: "is shared by 'q'")
        try await tool.succeed(["queue", "set", "q", "--no-fifo", "--share-limit", "none"])
        try await tool.succeed(["limit", "remove", "db"])
        #expect(try await tool.succeed(["queue", "show", "q"]).output.contains("groups    none\nlimit     none\n"))
    }

    @Test func aQueueIsToldOfRatesAndTurns() async throws {
        let tool = try await Tool.withQueue(
            "--rate", "5/1s", "--burst", "3", "--rate-per-key", "2/1m", "--burst-per-key", "4", "--fair")
        func policy() async throws -> JSONObject {
            try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]
        }
        func numbers(_ rate: JSONObject) -> [Double?] {
            ["count", "periodSeconds", "burst"].map { rate[$0].number }
        }
        var told = try await policy()
        #expect(numbers(told["rate"]) == [5, 1, 3] && numbers(told["ratePerKey"]) == [2, 60, 4])
        #expect(told["groups"]["limitPerKey"].number == 1000 && told["isFair"].flag == true)
        // What is not named stays as it was.
        try await tool.succeed(["queue", "set", "q", "--rate", "7/1s"])
        try await tool.succeed(["queue", "set", "q", "--burst-per-key", "6", "--limit-per-key", "8"])
        told = try await policy()
        #expect(numbers(told["rate"]) == [7, 1, 3] && numbers(told["ratePerKey"]) == [2, 60, 6])
        #expect(told["groups"]["limitPerKey"].number == 8 && told["isFair"].flag == true)
        #expect(try await tool.succeed(["group", "weight", "q", "a", "3"]).output == "Group a of q weighs 3.\n")
        #expect(try await tool.succeed(["group", "list", "q", "--json"]).object()["weight"].number == 3)
        try await tool.fail(
            ["queue", "set", "q", "--limit-per-key", "none"], with: 64, saying: "add --rate-per-key none")
        try await tool.succeed(["queue", "set", "q", "--rate", "none", "--rate-per-key", "none", "--no-fair"])
        told = try await policy()
        #expect(told["rate"].isNull && told["ratePerKey"].isNull && told["isFair"].flag == false)
        try await tool.fail(["queue", "set", "q", "--burst", "2"], with: 64, saying: "add --rate")
    }

    @Test func whatCannotBeIsRefused() async throws {
        let tool = try await Tool.withQueue()
        for (arguments, status, said) in [
            (["enqueue", "q", "x", "--group", "a"], 64, "The queue 'q' has no groups"),
            (["group", "pause", "q", "a"], 64, "has no groups"),
            (["queue", "set", "q", "--limit", "0"], 64, "A limit must be 1 to 1000000"),
            (["queue", "set", "q", "--limit-per-key", "0"], 64, "A limit per key must be 1 to 1000"),
            (["queue", "set", "q", "--fifo", "--limit-per-key", "2"], 64, "--fifo is one at a time"),
            (["queue", "set", "q", "--on-dead", "hold"], 64, "--on-dead is for groups in order"),
            (["queue", "set", "q", "--share-limit", "db"], 66, "There is no limit 'db'"),
            (["limit", "set", "db", "0"], 64, "A limit must be"),
            (["limit", "remove", "db"], 66, "There is no limit 'db'"),
        ] {
            try await tool.fail(arguments, with: Int32(status), saying: said)
        }
        try await tool.succeed(["queue", "set", "q", "--fifo"])
        try await tool.fail(
            ["enqueue", "q", "x", "--group", ""], with: 64, saying: "The key of a group must have 1 to 500")
        for contradiction in [["--fifo", "--no-fifo"], ["--no-fair", "--fair"]] {
            try await tool.fail(["queue", "set", "q"] + contradiction, with: 64, saying: contradiction[1])
        }
        try await tool.fail(["queue", "set", "q", "--limit-per-key", "2"], with: 64, saying: "add --no-fifo")
        try await tool.fail(
            ["queue", "set", "q", "--limit-per-key", "none"], with: 64, saying: "--no-fifo takes the groups away")
        #expect(try await tool.succeed(["list", "q", "--json"]).objects().isEmpty)
    }

    /// What takes groups of one kind away changes nothing of the other kind, and does not let one think so.
    @Test func groupsGoByTheOptionOfTheirKind() async throws {
        let tool = try await Tool.withQueue("--fifo")
        func groups() async throws -> JSONObject {
            try await tool.succeed(["queue", "show", "q", "--json"]).object()["policy"]["groups"]
        }
        // What is so already may be said again.
        try await tool.succeed(["queue", "set", "q", "--fifo", "--limit-per-key", "none"])
        #expect(try await groups()["fifo"].flag == true)
        try await tool.succeed(["queue", "set", "q", "--no-fifo", "--limit-per-key", "3"])
        try await tool.fail(
            ["queue", "set", "q", "--no-fifo"], with: 64, saying: "--limit-per-key none takes the groups away")
        try await tool.succeed(["queue", "set", "q", "--no-fifo", "--limit-per-key", "4"])
        #expect(try await groups()["limitPerKey"].number == 4)
        try await tool.succeed(["queue", "set", "q", "--no-fifo", "--limit-per-key", "none"])
        #expect(try await tool.succeed(["queue", "show", "q"]).output.contains("groups    none\n"))
    }
}
