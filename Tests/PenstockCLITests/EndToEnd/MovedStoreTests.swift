import PenstockTestKit
import Subprocess
import Testing

/// A file whose queues have moved: whoever looks is told, and not only whoever writes.
@Suite(.timeLimit(.minutes(5)))
struct MovedStoreTests {
    private func moved() async throws -> Tool {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "a"])
        let before = try await tool.succeed(["status", "--json"]).output
        #expect(!before.contains("\"move\""))
        try await tool.succeed(["copy", "--from", "test.db", "--to", "new.db"])
        return tool
    }

    @Test func whoeverLooksIsTold() async throws {
        let tool = try await moved()
        let sentence = "The queues have moved to \(tool.folder)/new.db: nothing is taken or given here."
        for command in [["status"], ["status", "q"], ["queue", "list"], ["why", "1"]] {
            let lines = try await tool.succeed(command).lines
            #expect(lines.first == sentence, "\(command)")
            #expect(lines.count > 1, "\(command)")
            let json = try await tool.succeed(command + ["--json"]).object()
            #expect(json["move"]["phase"].text == "moved", "\(command)")
            #expect(json["move"]["target"].text == "\(tool.folder)/new.db", "\(command)")
        }
        let doctor = try await tool.succeed(["doctor"]).lines.filter { !$0.hasPrefix("ok ") && !$0.hasPrefix("note ") }
        #expect(
            doctor == [
                "warn  The queues have moved to \(tool.folder)/new.db: nothing is taken or given here; use that store, or open this "
                    + "one again with `penstock copy --cancel --from \(tool.folder)/test.db`."
            ])
        // The target is an ordinary store, and so is this one when the move was given up.
        #expect(try await tool.succeed(["status", "--db", "new.db"]).lines.first?.hasPrefix("QUEUE") == true)
        try await tool.succeed(["check", "--all", "--db", "new.db"])
        try await tool.fail(
            ["copy", "--from", "test.db", "--cancel", "--force", "--to", "new.db"], with: 64, saying: "--force")
        try await tool.fail(["copy", "--from", "test.db", "--cancel"], with: 64, saying: "may be open there")
        let opened = try await tool.succeed(["copy", "--from", "test.db", "--cancel", "--force"]).output
        #expect(opened.contains("where it is worked, each message is worked twice"))
        #expect(try await tool.succeed(["status"]).lines.first?.hasPrefix("QUEUE") == true)
        #expect(try await tool.succeed(["doctor"]).output.contains("ok    the queues are here"))
    }

    @Test func aDryRunCountsWhatTheCopyBrings() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        try await tool.succeed(["cancel", "2"])
        for option in [["--log", "--dry-run"], ["--dry-run"]] {
            let copy = ["copy", "--from", "test.db", "--to", "new-\(option.count).db", "--json"]
            let dry = try await tool.succeed(copy + option).object()
            let done = try await tool.succeed(copy + option.dropLast()).object()
            #expect(dry["wouldCopy"].number == (option.count == 2 ? 3 : 1))
            #expect(done["copied"].number == dry["wouldCopy"].number)
            #expect(dry["queues"] == done["queues"], "\(option)")
            try await tool.succeed(["copy", "--from", "test.db", "--cancel", "--force"])
        }
    }

    /// It is made the day before, when there is still time to do something about it.
    @Test func aDryRunRefusesWhatTheCopyRefuses() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "other", "--db", "new.db"])
        for (queue, store) in [("q", "test.db"), ("other", "new.db")] {
            try await tool.succeed(["schedule", "add", "nightly", "@daily", "--queue", queue, "x", "--db", store])
        }
        let copy = ["copy", "--from", "test.db", "--to", "new.db"]
        let clash = "\(tool.folder)/new.db has a schedule called 'nightly' of its own"
        let dry = try await tool.run(copy + ["--dry-run"])
        #expect(dry.status == .exited(73) && dry.errors.hasPrefix("penstock: Nothing would be copied: \(clash)"))
        try await tool.fail(copy, with: 73, saying: clash)
        try await tool.succeed(["schedule", "remove", "nightly", "--db", "new.db"])
        try await tool.succeed(copy + ["--dry-run"])
        try await tool.succeed(copy)
    }

    @Test func aCheckIsCriticalInEveryForm() async throws {
        let tool = try await moved()
        let statement = "The queues have moved to \(tool.folder)/new.db: nothing is taken or given here"
        func check(_ arguments: String...) async throws -> Tool.Outcome {
            let outcome = try await tool.run(["check"] + arguments)
            #expect(outcome.status == .exited(2), "\(arguments)")
            #expect(outcome.errors == "")
            return outcome
        }
        #expect(try await check("--all").lines == ["fail  \(statement)."])
        #expect(try await check("q", "--max-ready", "5").lines == ["fail  \(statement)."])
        let both = try await check("q", "--max-ready", "0").lines
        #expect(both == ["fail  \(statement).", "fail  queue q: 1 message ready, at most 0."])
        #expect(
            try await check("q", "--format", "nagios").lines == ["PENSTOCK CRITICAL - \(statement) | 'moved'=1;;0;0"])
        let json = try await check("q", "--format", "json").object()
        #expect(json["status"].text == "critical")
        #expect(json["summary"].text.hasPrefix("\(statement); 1 queue: 1 ready"))
        #expect(json["checks"][0]["check"].text == "moved")
        let prometheus = try await check("--all", "--format", "prometheus").lines
        #expect(prometheus.contains("penstock_store_moved 1"))
        #expect(prometheus.contains(#"penstock_check_status{queue="",check="moved"} 2"#))
    }

    /// What a plain INSERT is told of is there to be read.
    @Test func aPlainInsertIsToldWhereToLook() async throws {
        let tool = try await moved()
        let columns = "SELECT moved_to, moved_from FROM penstock_store"
        #expect(try await tool.sql(columns) == "\(tool.folder)/new.db|\(tool.folder)/test.db\n")
    }
}
