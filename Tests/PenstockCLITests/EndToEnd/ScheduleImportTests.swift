import Subprocess
import Testing

/// `penstock schedule import crontab`
@Suite(.timeLimit(.minutes(5)))
struct ScheduleImportTests {
    private static let crontab = #"""
        # Comments and settings are no entries.
        PATH = "/bin:/usr/bin"
        MAILTO=root
        NAME='it''s'

        30 2 * * *  echo "$NAME 100\%"
        CRON_TZ=Europe/Paris
        @weekly     true
        @reboot     true
        0 0 30 2 *  true
        * * * * *   cat%some input
        5 4 * * *
        """#

    @Test func entriesBecomeSchedulesAndTheRestIsReported() async throws {
        let tool = try await Tool.withQueue()
        let arguments = ["schedule", "import", "crontab", "-", "--queue", "q", "--zone", "America/New_York"]
        let plan = try await tool.run(arguments + ["--dry-run", "--json"], input: Array(Self.crontab.utf8))
        let lines = try plan.objects()
        #expect(lines.map { $0["line"].number } == [6, 8, 9, 10, 11, 12])
        #expect(lines.map { $0["problem"].isNull } == [true, true, false, false, false, false])
        #expect(lines[0]["schedule"].text == "crontab-6" && lines[0]["notes"].count == 1)
        #expect(lines[2]["problem"].text.contains("@reboot") && lines[3]["problem"].text.contains("never fire"))
        #expect(lines[4]["problem"].text.contains("%") && lines[5]["problem"].text == "there is no command")
        #expect(try await tool.succeed(["schedule", "list", "--json"]).output == "")

        let made = try await tool.run(arguments, input: Array(Self.crontab.utf8))
        #expect(made.lines.count == 6 && made.lines[0].hasPrefix("line 6: crontab-6, next at "))
        #expect(made.lines[2].hasPrefix("line 9: left out: "))
        let schedules = try await tool.succeed(["schedule", "list", "--json"]).objects()
        #expect(schedules.map { $0["zone"].text } == ["America/New_York", "Europe/Paris"])
        // The payload is what a worker runs by sh, as cron would.
        try await tool.succeed(["schedule", "run", "crontab-6"])
        #expect(try await tool.succeed(["work", "q", "--drain", "--", "sh"]).output == "it''s 100%\n")
        // Once more is refused, unless it is to replace; and a dry run says so.
        for dryRun in [[], ["--dry-run"]] {
            let again = try await tool.run(arguments + dryRun, input: Array(Self.crontab.utf8))
            #expect(again.lines[0].contains("left out: there is a schedule 'crontab-"), "\(again.lines[0])")
        }
        #expect(
            try await tool.run(arguments + ["--replace"], input: Array(Self.crontab.utf8)).lines[0].contains("next at"))
    }

    @Test func anImportThatReplacesTakesNothingAway() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "other"])
        try await tool.succeed(["schedule", "add", "crontab-4", "@yearly", "--queue", "other", "mine"])
        let arguments = ["schedule", "import", "crontab", "-", "--queue", "q"]
        try await tool.succeed(arguments, input: Array("@daily a\n@daily b\n@daily c\n".utf8))
        try await tool.succeed(["schedule", "pause", "crontab-1"])
        let again = try await tool.run(
            arguments + ["--replace"], input: Array("@hourly a\n61 * * * * b\n\n@daily d\n".utf8))
        #expect(again.status == .exited(1) && again.lines.count == 4)
        #expect(again.lines[0].hasSuffix("it is paused"))
        #expect(again.lines[2].contains("of the queue 'other'"))
        #expect(again.lines[3] == "crontab-3: its line is gone, and it stays; penstock schedule remove ends it")
        let nothing = try await tool.run(arguments + ["--replace"], input: [])
        #expect(nothing.lines.count == 3)
        let schedules = try await tool.succeed(["schedule", "list", "--json"]).objects()
        #expect(schedules.map { $0["schedule"].text } == ["crontab-1", "crontab-2", "crontab-3", "crontab-4"])
        #expect(schedules.map { $0["queue"].text } == ["q", "q", "q", "other"])
        #expect(schedules[0]["spec"].text == "@hourly" && schedules[1]["spec"].text == "@daily")
    }

    @Test func aSystemsCrontabHasUsers() async throws {
        let tool = try await Tool.withQueue()
        let crontab = "17 * * * * root cd / && run-parts\n@daily nobody true\n"
        let lines = try await tool.succeed(
            ["schedule", "import", "crontab", "-", "--queue", "q", "--system", "--json"], input: Array(crontab.utf8)
        ).objects()
        #expect(
            lines.map { $0["notes"][0].text } == [
                "it runs as the worker's user, not as root", "it runs as the worker's user, not as nobody",
            ])
        let payload = try await tool.succeed(["schedule", "show", "crontab-1", "--json"]).object()["payload"].text
        #expect(payload == "cd / && run-parts\n")
    }

    @Test func aSettingThatIsTakenBackIsNotNoted() async throws {
        let tool = try await Tool.withQueue()
        let crontab = """
            SHELL=/bin/bash
            MAILTO=root
            RANDOM_DELAY=5
            @hourly first
            SHELL=/bin/sh
            MAILTO=""
            RANDOM_DELAY=0
            @hourly second

            """
        let lines = try await tool.succeed(
            ["schedule", "import", "crontab", "-", "--queue", "q", "--dry-run", "--json"], input: Array(crontab.utf8)
        ).output.split(separator: "\n")
        #expect(lines.count == 2)
        for note in ["SHELL: the command runs by sh", "MAILTO: nothing", "RANDOM_DELAY: use"] {
            #expect(lines[0].contains(note), "\(note)")
            #expect(!lines[1].contains(note), "\(note)")
        }
    }

    @Test func whatIsLeftOutIsAFindingAndNoError() async throws {
        let tool = try await Tool.withQueue()
        let end = try await tool.run(
            ["schedule", "import", "crontab", "-", "--queue", "q", "--dry-run"], input: Array("@reboot true\n".utf8))
        #expect(end.status == .exited(1) && end.lines.count == 1)
        #expect(end.errors == "penstock: 1 of 1 entries left out.\n")
    }

    @Test func linesMayEndAsOnWindows() async throws {
        let tool = try await Tool.withQueue()
        let crontab = "# first\r\n0 1 * * * echo one\r\n0 2 * * * echo two\r\n"
        let lines = try await tool.succeed(
            ["schedule", "import", "crontab", "-", "--queue", "q", "--dry-run", "--json"], input: Array(crontab.utf8)
        ).objects()
        #expect(lines.map { $0["schedule"].text } == ["crontab-2", "crontab-3"])
    }

    @Test func bytesThatAreNoTextAreRefused() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(
            ["schedule", "import", "crontab", "-", "--queue", "q"],
            input: Array("0 1 * * * cat caf".utf8) + [0xE9, 10], with: 64, saying: "no text in UTF-8")
    }
}
