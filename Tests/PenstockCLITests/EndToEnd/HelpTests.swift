import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HelpTests {
    @Test(arguments: [
        ["enqueue"], ["work"], ["status"], ["check"], ["list"], ["show"], ["why"], ["log"], ["cancel"], ["retry"],
        ["replay"],
        ["prune"],
        ["doctor"], ["backup"], ["restore"], ["migrate"], ["queue", "create"], ["queue", "set"], ["queue", "show"],
        ["queue", "list"],
        ["queue", "pause"], ["queue", "resume"], ["queue", "delete"], ["dead", "list"], ["dead", "redrive"],
        ["dead", "discard"], ["schedule", "add"], ["schedule", "list"], ["schedule", "show"], ["schedule", "next"],
        ["schedule", "pause"], ["schedule", "resume"], ["schedule", "run"], ["schedule", "remove"],
        ["workflow", "run"], ["workflow", "list"], ["workflow", "show"], ["workflow", "graph"], ["workflow", "result"],
        ["workflow", "emit"], ["workflow", "cancel"],
    ])
    func everyCommandHasExamplesOfItself(command: [String]) async throws {
        let help = try await Tool.empty().succeed(command + ["--help"]).output
        #expect(help.contains("EXAMPLES\n  penstock \(command.joined(separator: " "))"))
        #expect(help.contains("--db <path>"))
    }

    /// The server is a program of its own, and what is said of it is said there.
    @Test func theServersOptionsAreInItsHelp() async throws {
        let tool = try Tool.empty()
        let help = try await tool.succeed(["help", "serve"]).output
        #expect(help.contains("--token-file <path>"))
        #expect(try await tool.succeed(["serve", "--help"]).output == help)
    }

    @Test func aListSaysWhichStatesItTakes() async throws {
        let help = try await Tool.empty().succeed(["list", "--help"]).output
        #expect(help.contains("Without --state: pending,scheduled,blocked,ready,leased."))
    }

    @Test func theRootNamesEveryCommandAndExitStatus() async throws {
        let help = try await Tool.empty().succeed(["--help"]).output
        for word in [
            "enqueue", "work", "replay", "doctor", "backup", "restore", "  64   ", "  78   ", "  127  ", "  143  ",
            "PENSTOCK_DB",
        ] {
            #expect(help.contains(word), "\(word)")
        }
    }

    /// A meaning goes on beneath itself, and no line is as long as those that the parser breaks.
    @Test func theListOfStatusesIsInLine() async throws {
        let help = try await Tool.empty().succeed(["--help"]).lines
        let begin = try #require(help.firstIndex(of: "EXIT STATUS"))
        let list = help[(begin + 1)...].prefix { !$0.isEmpty }
        #expect(list.count > 17)
        for line in list {
            let indent = line.prefix { $0 == " " }.count
            #expect(indent == 7 || indent == 2 && line.dropFirst(2).first?.isNumber == true, "\(line)")
            #expect(line.count < 80, "\(line)")
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsAreWritten(shell: String) async throws {
        let script = try await Tool.empty().succeed(["--generate-completion-script", shell]).output
        #expect(script.contains("enqueue"))
        // The server's, which is a program of its own.
        #expect(script.contains("token-file"))
    }

    @Test func theNamesOfQueuesAreCompleted() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "quick"])
        try await tool.succeed(["queue", "create", "slow"])
        // bash runs what stands in some of them.
        for name in ["q$(id>OWNED)", "q`id`", "q'", "q;id", "q x", "q\\", "q\"", "q>x", "q*", "q:x"] {
            try await tool.succeed(["queue", "create", name])
        }
        let outcome = try await tool.succeed([
            "---completion", "enqueue", "--", "positional@0", "2", "1", "penstock", "enqueue", "q",
        ])
        // Names of the other kind are written in full.
        #expect(outcome.lines == ["q", "quick"])
    }

    /// Some programs say 0 of a terminal that they do not know.
    @Test(arguments: ["-1", "0", "28", "many"])
    func helpIsThereHoweverNarrowTheTerminal(columns: String) async throws {
        var tool = try Tool.empty()
        tool.variables["COLUMNS"] = columns
        for arguments in [["--help"], ["work", "--help"], ["help", "queue", "set"], ["serve", "--help"]] {
            let help = try await tool.succeed(arguments)
            #expect(help.output.contains("--help"), "\(arguments)")
            #expect(help.errors == "", "\(arguments)")
        }
        try await tool.fail(["status", "--jsn"], with: 64, saying: "Did you mean '--json'?")
    }

    /// As `script` opens one; its size is set before the program begins.
    @Test func helpIsThereOnANarrowTerminal() async throws {
        #if os(Linux)
            let tool = try Tool.empty()
            let script = #"unset COLUMNS; exec script -qec "stty cols 20; '$0' work --help" /dev/null"#
            guard try await tool.run(script: "exec script -qec true /dev/null").status == .exited(0) else {
                try Test.cancel("There is no `script` here that opens a terminal.")
            }
            let help = try await tool.run(script: script)
            #expect(help.status == .exited(0), "\(help.output)")
            #expect(help.output.contains("--concurrency"))
        #endif
    }

    @Test func theVersionIsANumber() async throws {
        let version = try await Tool.empty().succeed(["--version"]).output
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }
}
