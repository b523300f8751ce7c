import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ByHandTests {
    /// A queue with the dead letters 1 and 2, and the waiting messages 3 and 4.
    private func withDeadLetters() async throws -> Tool {
        let tool = try await Tool.withQueue("--attempts", "1")
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\n".utf8))
        try await tool.succeed(["work", "q", "--drain", "--", "sh", "-c", "echo broken >&2; exit 1"])
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("c\nd\n".utf8))
        return tool
    }

    @Test func deadLettersAreListedWithTheirErrors() async throws {
        let tool = try await withDeadLetters()
        let lines = try await tool.succeed(["dead", "list"]).lines
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("SEQUENCE  QUEUE  ATTEMPTS  DIED"))
        #expect(lines[1].hasSuffix("attemptsExhausted  exit status 1: broken  a"))
        let letters = try await tool.succeed(["dead", "list", "q", "--json"]).objects()
        #expect(
            letters.map { $0["attempts"][0]["error"].text } == ["exit status 1: broken", "exit status 1: broken"])
    }

    @Test func deadLettersAreRedrivenByNumberOrByQueue() async throws {
        let tool = try await withDeadLetters()
        #expect(try await tool.succeed(["dead", "redrive", "2"]).output == "1 message redriven.\n")
        #expect(try await tool.payloads("ready") == ["b", "c", "d"])
        #expect(
            try await tool.succeed(["dead", "redrive", "--queue", "q", "--json"]).output == "{\"redriven\":1}\n")
        #expect(try await tool.payloads("ready") == ["a", "b", "c", "d"])
    }

    /// A slip in a number must not send tomorrow's message now.
    @Test func whatIsScheduledIsNotRedriven() async throws {
        let tool = try await withDeadLetters()
        let delayed = try #require(Int(try await tool.succeed(["enqueue", "q", "later", "--delay", "1h"]).lines[0]))
        for more in [[], ["--dry-run"]] {
            try await tool.fail(
                ["dead", "redrive", "1", "\(delayed)"] + more, with: 64, saying: "`penstock retry \(delayed)` puts it")
        }
        #expect(try await tool.payloads("ready") == ["c", "d"])
        try await tool.succeed(["retry", "\(delayed)"])
        #expect(try await tool.payloads("ready") == ["c", "d", "later"])
    }

    /// Dead letters, two of which have had the same key.
    private func withKeyedDeadLetters() async throws -> Tool {
        let tool = try await Tool.withQueue("--attempts", "1")
        for _ in 1...2 {
            try await tool.succeed(["enqueue", "q", "keyed", "--key", "k"])
            try await tool.succeed(["enqueue", "q", "free"])
            try await tool.succeed(["work", "q", "--drain", "--", "sh", "-c", "exit 1"])
        }
        return tool
    }

    @Test func aRedriveThatEndsAtItsLimitLooksAtNoMore() async throws {
        let tool = try await withKeyedDeadLetters()
        let redrive = ["dead", "redrive", "--queue", "q", "--limit", "2"]
        #expect(try await tool.succeed(redrive).output == "2 messages redriven.\n")
        #expect(try await tool.succeed(redrive + ["--json"]).output == "{\"redriven\":1,\"keyHeld\":1}\n")
    }

    @Test func aRedriveSaysWhatIsPassedOver() async throws {
        let tool = try await withKeyedDeadLetters()
        #expect(
            try await tool.succeed(["dead", "redrive", "--queue", "q"]).output
                == "3 messages redriven; 1 dead letter stays, as another message has its unique key.\n")
        #expect(
            try await tool.succeed(["dead", "redrive", "--queue", "q", "--json"]).output
                == "{\"redriven\":0,\"keyHeld\":1}\n")
        try await tool.fail(["dead", "redrive", "3"], with: 64, saying: "while another one has its unique key")
    }

    @Test func retryPutsBackAllOrNone() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["enqueue", "q", "later", "--delay", "1h"])
        try await tool.fail(["retry", "1", "3"], with: 64, saying: "Message 3 is ")
        try await tool.fail(
            ["retry", "1", "3"], with: 64, saying: "only dead and scheduled messages can be put back in line")
        try await tool.fail(["retry", "1", "99"], with: 66, saying: "99")
        #expect(try await tool.payloads("dead") == ["a", "b"])
        #expect(try await tool.succeed(["retry", "1", "5"]).output == "2 messages put back in line.\n")
        #expect(try await tool.payloads("ready") == ["a", "c", "d", "later"])
    }

    @Test func deadLettersAreRedrivenByTheirErrors() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["enqueue", "q", "e", "--header", "tenant=ada", "--key", "k"])
        let fails = "echo timed out after $(($PENSTOCK_SEQUENCE * 10)) s >&2; exit 65"
        try await tool.succeed(["work", "q", "--drain", "--", "sh", "-c", fails])
        let groups = try await tool.succeed(["dead", "list", "--by-error", "--json"]).objects()
        #expect(groups.map { $0["count"].number } == [3, 2])
        #expect(groups.map { $0["error"].text } == ["exit status #: timed out after # s", "exit status #: broken"])
        #expect(groups.map { $0["example"].number } == [5, 2])
        let table = try await tool.succeed(["dead", "list", "q", "--by-error"]).lines
        #expect(table[0].hasPrefix("COUNT  QUEUE  REASON"))
        #expect(table[1].hasPrefix("    3  q      rejected"))
        #expect(try await tool.succeed(["dead", "list", "q", "--by-error", "--limit", "1"]).lines.count == 2)

        let timedOut = ["dead", "redrive", "--queue", "q", "--error-contains", "timed out"]
        #expect(try await tool.succeed(timedOut + ["--dry-run"]).output == "3 messages would be redriven.\n")
        #expect(try await tool.succeed(timedOut + ["--dry-run", "--json"]).output == "{\"wouldRedrive\":3}\n")
        try await tool.fail(timedOut + ["--expect", "2"], with: 75, saying: "3 messages match, and 2 were expected")
        let none = timedOut + ["--header", "tenant=ada", "--expect", "0"]
        try await tool.fail(none, with: 75, saying: "1 message matches, and 0 were expected")
        #expect(try await tool.payloads("ready") == [])
        let one = timedOut + ["--header", "tenant=ada", "--expect", "1"]
        #expect(try await tool.succeed(one).output == "1 message redriven.\n")
        #expect(try await tool.payloads("ready") == ["e"])
        let like = ["dead", "discard", "--queue", "q", "--like", "3"]
        #expect(try await tool.succeed(like).output == "2 messages discarded.\n")
        #expect(try await tool.payloads("dead") == ["a", "b"])
        try await tool.fail(
            ["dead", "redrive", "--queue", "q", "--like", "5"], with: 64, saying: "takes a dead letter")
        #expect(try await tool.succeed(["cancel", "--queue", "q", "--key", "k"]).output == "1 message cancelled.\n")
        #expect(try await tool.succeed(["dead", "discard", "1", "3", "--dry-run"]).output.hasPrefix("1 message would"))
    }

    @Test func messagesAreListedByWhatTheyHave() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["enqueue", "q", "ada 1", "--header", "tenant=ada", "--key", "k"])
        try await tool.succeed(["enqueue", "q", "bob 2", "--header", "tenant=bob"])
        func listed(_ options: String...) async throws -> [String?] {
            try await tool.succeed(["list", "q", "--json"] + options).objects().map { $0["payload"].text }
        }
        #expect(try await listed("--header", "tenant=ada") == ["ada 1"])
        #expect(try await listed("--payload-contains", "b 2") == ["bob 2"])
        #expect(try await listed("--key", "k") == ["ada 1"])
        #expect(try await listed("--state", "dead", "--error-contains", "broken", "--last", "1") == ["b"])
        #expect(try await listed("--error-contains", "broken") == [])
        let dead = try await tool.succeed(["dead", "list", "--payload-contains", "a", "--json"]).objects()
        #expect(dead.map { $0["payload"].text } == ["a"])
    }

    @Test(arguments: [
        (["dead", "redrive", "1", "--error-contains", "x"], "go with --queue"),
        (["dead", "redrive", "1", "--like", "2"], "--like goes with --queue"),
        (["dead", "redrive", "1", "--expect", "2"], "--expect goes with --queue"),
        (["cancel", "--queue", "q", "--dry-run", "--expect", "2"], "leave one of them out"),
        (["cancel", "--queue", "q", "--header", "a=1", "--header", "a=2"], "given twice"),
        (["dead", "list", "--by-error", "--error-contains", "x"], "--by-error takes a queue"),
        (["list", "--payload-contains", ""], "1 to 1000 bytes"),
    ])
    func choicesThatCannotBeAreRefused(_ arguments: [String], _ sentence: String) async throws {
        try await Tool.withQueue().fail(arguments, with: 64, saying: sentence)
    }

    @Test func deadLettersAreThrownAway() async throws {
        let tool = try await withDeadLetters()
        #expect(
            try await tool.succeed(["dead", "discard", "--queue", "q", "--limit", "1"]).output
                == "1 message discarded.\n")
        #expect(try await tool.payloads("dead") == ["b"])
        #expect(try await tool.payloads("cancelled") == ["a"])
    }

    @Test func messagesAreCancelledByNumberOrByQueue() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["cancel", "3"])
        #expect(try await tool.payloads("ready") == ["d"])
        try await tool.fail(["cancel", "1"], with: 64, saying: "1")
        #expect(try await tool.succeed(["cancel", "--queue", "q"]).output == "1 message cancelled.\n")
        #expect(try await tool.payloads("ready") == [])
        #expect(try await tool.payloads("dead") == ["a", "b"])
    }

    @Test func historyIsReplayed() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["queue", "create", "again"])
        #expect(
            try await tool.succeed(["replay", "q", "--from", "1", "--dry-run"]).output
                == "2 messages would be replayed.\n")
        #expect(
            try await tool.succeed(["replay", "q", "--last", "1", "--into", "again"]).output
                == "1 message replayed.\n")
        #expect(
            try await tool.succeed(["replay", "q", "--from", "1", "--dry-run", "--json"]).output
                == "{\"wouldReplay\":2}\n")
        let replayed = try await tool.succeed(["list", "again", "--json"]).object()
        #expect(replayed["payload"].text == "b")
        #expect(replayed["origin"].number == 2)
        #expect(
            try await tool.succeed(["replay", "q", "--state", "ready", "--json"]).output == "{\"replayed\":2}\n")
        #expect(try await tool.payloads("ready") == ["c", "d", "c", "d"])
        #expect(try await tool.succeed(["replay", "q", "--since", "+1h"]).output == "0 messages replayed.\n")
        try await tool.fail(
            ["replay", "q", "--from", "1", "--into", "nowhere"], with: 66, saying: "no queue 'nowhere'")
    }

    @Test func endedMessagesAreForgotten() async throws {
        let tool = try await withDeadLetters()
        try await tool.succeed(["work", "q", "--drain", "--", "true"])
        #expect(try await tool.succeed(["prune"]).output == "0 messages pruned.\n")
        #expect(try await tool.succeed(["prune", "q", "--retain-count", "1"]).output == "1 message pruned.\n")
        #expect(try await tool.payloads("done") == ["d"])
        #expect(
            try await tool.succeed(["prune", "q", "--retain-dead", "0s", "--json"]).output == "{\"pruned\":2}\n")
        #expect(try await tool.payloads("dead") == [])
    }

    @Test func aFileIsMadeAndBroughtUpToDate() async throws {
        let tool = try Tool.empty()
        let count = try FileManager.default.contentsOfDirectory(atPath: Tool.schema.path).count
        #expect(try await tool.succeed(["migrate"]).output == "\(tool.folder)/test.db was made, by \(count) steps.\n")
        #expect(try await tool.succeed(["migrate"]).output == "\(tool.folder)/test.db is up to date.\n")
        #expect(try await tool.succeed(["status", "--json"]).object()["queues"].count == 0)
        let older = try Tool.empty()
        #expect(try await older.sql(".read '\(Tool.schema.path)/0001_log.sql'") == "")
        let migrated = try await older.succeed(["migrate", "--json"]).object()
        #expect(migrated["created"].flag == false)
        #expect(migrated["steps"].count == count - 1)
        #expect(migrated["steps"][0].text == "line")
    }
}
