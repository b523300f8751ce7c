import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WrongInputTests {
    /// Every one of these is refused before anything is done: the file has nothing more in it afterwards.
    @Test(arguments: [
        (["enqueue", "", "x"], "A queue's name cannot be empty."),
        (["enqueue", " q", "x"], "cannot begin or end with a space"),
        (["enqueue", "q\u{1B}", "x"], "cannot hold control characters"),
        (["enqueue", "q", "x", "--delay", "5"], "'5' is no duration; write whole numbers with units"),
        (["enqueue", "q", "x", "--delay", "1.5s"], "250ms, 10s, 5m, 1h30m or 7d"),
        (["enqueue", "q", "x", "--at", "tomorrow"], "'tomorrow' is no time; write ISO 8601"),
        (["enqueue", "q", "x", "--at", "2001-02-29"], "'2001-02-29' is no time"),
        (["enqueue", "q", "x", "--delay", "1s", "--at", "+1s"], "--delay and --at exclude each other"),
        (["enqueue", "q", "x", "--delay", "4000d"], "ten years"),
        (["enqueue", "q", "x", "--priority", "101"], "-100 to 100"),
        (["enqueue", "q", "x", "--attempts", "0"], "1 to 1000"),
        (["enqueue", "q", "x", "--header", "novalue"], "NAME=VALUE"),
        (["enqueue", "q", "x", "--header", "sp ace=x"], "letters, digits"),
        (["enqueue", "q", "x", "--header", "a=1", "--header", "a=2"], "given twice"),
        (["enqueue", "q", "x", "--key", ""], "unique key"),
        (["enqueue", "q", "x", "--if-exists", "skip"], "goes with --key"),
        (["enqueue", "q", "x", "--key", "k", "--if-exists", "never"], "write skip, replace, throttle or debounce"),
        (["enqueue", "q", "x", "--key-scope", "1h"], "--key-scope goes with --key"),
        (["enqueue", "q", "x", "--key", "k", "--key-scope", "soon"], "write until-ended, while-waiting, or a period"),
        (["enqueue", "q", "x", "--key", "k", "--key-scope", "0s"], "1 millisecond to 366 days"),
        (["enqueue", "q", "x", "--key", "k", "--if-exists", "debounce"], "A message with debounce has a delay"),
        (["enqueue", "q", "x", "--key", "k", "--debounce-max", "1m"], "--debounce-max goes with --if-exists debounce"),
        (["schedule", "add", "s", "@daily", "--queue", "q", "x", "--key-scope", "1h"], "goes with --key or --unique"),
        (["enqueue", "q", "x", "--durability", "none"], "power-loss or process-crash"),
        (["enqueue", "q", "x", "--file", "f"], "exclude each other"),
        (["enqueue", "q", "x", "--lines"], "leave the payload out"),
        (["enqueue", "q", "--skip-empty"], "goes with --lines"),
        (["enqueue", "q", "--lines", "--key", "k"], "excludes --lines"),
        (["enqueue", "q", "--no-such-option"], "--no-such-option"),
        (["enqueue"], "Missing expected argument '<queue>'"),
        (["enqueue", "q\nfatal: no", "x"], #"The value 'q\nfatal: no' is invalid for '<queue>'"#),
        (["enqueue", "q", "x", "a\nb\u{1B}"], #"Unexpected argument 'a\nb\x1B'"#),
        (["list", "--state=ready,a\nb\\"], #"'ready,a\nb\\' is invalid for '--state <states>': 'a\nb\\' is no state"#),
        (["status", "--a\nb"], #"Unknown option '--a\nb'"#),
        (["help", "no-such-command"], "There is no command 'penstock no-such-command'; `penstock --help`"),
        (["help", "queue", "delte"], "There is no command 'penstock queue delte'; perhaps 'penstock queue delete' is"),
        (["no-such-command"], "There is no command 'penstock no-such-command'; `penstock --help`"),
        (["push", "q", "x"], "There is no command 'penstock push'; `penstock --help` names"),
        (["enque", "q", "x"], "There is no command 'penstock enque'; perhaps 'penstock enqueue' is meant."),
        (["--json", "stauts"], "perhaps 'penstock status' is meant."),
        (["queue", "delte", "q"], "There is no command 'penstock queue delte'; perhaps 'penstock queue delete' is"),
        (["a\nb"], #"There is no command 'penstock a\nb'"#),
        (["queue", "create", "new", "--capacity", "0"], "1 to 1000000000"),
        (["queue", "create", "new", "--capacity", "many"], "whole number, or none"),
        (["queue", "create", "new", "--when-full", "explode"], "drop-newest, drop-oldest, fail or wait"),
        (["queue", "create", "new", "--when-full", "wait"], "add --capacity"),
        (["queue", "create", "new", "--retry-factor", "0.5"], "1 to 100"),
        (["queue", "create", "new", "--retry-jitter", "2"], "0 to 1"),
        (["queue", "create", "new", "--retain-age", "soon"], "'soon' is no duration"),
        (["queue", "set", "q"], "Say what to change"),
        (["queue", "set", "q", "--capcity", "4"], "Unknown option '--capcity'. Did you mean '--capacity'?"),
        (["queue", "set", "q", "--zebra=a\nb"], "Unknown option '--zebra'."),
        (["work", "q", "--concurency", "4", "true"], "Unknown option '--concurency'. Did you mean '--concurrency'?"),
        (["--json", "queue", "set", "q"], "Say what to change"),
        (["work", "q"], "after two dashes"),
        (["work", "q", "--concurrency", "0", "--", "true"], "--concurrency is 1 to 1000"),
        (["work", "q", "--lease", "1ms", "--", "true"], "100ms to 7d"),
        (["work", "q", "--timeout", "0s", "--", "true"], "--timeout"),
        (["enqueue", "q", "x", "--kind", "a,b"], "A kind's name cannot hold a comma."),
        (["enqueue", "q", "x", "--kind", "a", "--header", "penstock-kind=b"], "--kind sets the header penstock-kind"),
        (["work", "q", "--kinds", "a,,b", "--", "true"], "A kind's name cannot be empty."),
        (["work", "q", "--kinds", "a,a", "--", "true"], "the kind 'a' is there twice"),
        (["work", "q,,q2", "--", "true"], "a queue is missing before, between or after the commas"),
        (["work", "q,", "--", "true"], "a queue is missing"),
        (["work", "q,q", "--", "true"], "the queue 'q' is there twice"),
        (["work", "q:0,r", "--order", "weighted", "--", "true"], "the weight of 'q' is 1 to 1000, not 0"),
        (["work", "q:3,r", "--", "true"], "A weight (q:3) goes with --order weighted"),
        (["work", "q:3", "--", "true"], #"where it belongs to the name, write q\:3"#),
        (["work", "q,r", "--order", "fair", "--", "true"], "'fair' is invalid for '--order <order>'"),
        (["list", "q", "--state", "lost"], "'lost' is no state; the states are pending, scheduled, blocked, ready"),
        (["list", "q", "--group", ""], "group"),
        (["cancel", "1", "--group", "g"], "--group goes with --queue"),
        (["list", "q", "--limit", "0"], "--limit is 1 to 10000"),
        (["list", "q", "--limit", "-1"], "'--limit <count>'; what begins with a dash is written --limit=-1"),
        (["list", "q", "--limit=-1"], "--limit is 1 to 10000, not -1"),
        (["enqueue", "q", "x", "--key", "-a\nb"], #"what begins with a dash is written --key=-a\nb"#),
        (["show", "0"], "a whole number from 1"),
        (["show", "one"], "a whole number from 1"),
        (["show", "-1"], "'-1' is taken for an option; a number that stands by itself is not negative"),
        (["dead", "redrive", "-1"], "'-1' is taken for an option; a number that stands by itself is not negative"),
        (["cancel"], "by their sequence numbers, or by --queue"),
        (["cancel", "1", "--queue", "q"], "by their sequence numbers, or by --queue"),
        (["replay", "q"], "For all that are left: --from 1"),
        (["status", "--watch", "--interval", "1ms"], "10ms"),
        (["status", "--interval", "1s"], "--interval goes with --watch"),
        (["enqueue", "q", "a", "--delay", "-5s"], "-5s"),
        (["log", "q", "--last", "0"], "--last is 1 to 10000"),
    ])
    func isRefusedWithAReason(arguments: [String], words: String) async throws {
        let tool = try await Tool.withQueue()
        let outcome = try await tool.fail(arguments, with: 64, saying: words)
        #expect(!outcome.errors.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
        #expect(try await tool.sql("SELECT queue FROM penstock_queues; SELECT count(*) FROM penstock_log") == "q\n0\n")
    }

    @Test(arguments: [
        ["enqueue", "q", "x"], ["enqueue", "q", "--lines"], ["work", "q", "--", "true"], ["status"], ["list"],
        ["show", "1"], ["log", "q"], ["cancel", "1"], ["retry", "1"], ["dead", "list"], ["dead", "redrive", "1"],
        ["dead", "discard", "1"], ["replay", "q", "--from", "1"], ["prune"], ["doctor"], ["queue", "list"],
        ["queue", "show", "q"], ["queue", "set", "q", "--attempts", "1"], ["queue", "pause", "q"],
        ["queue", "resume", "q"], ["queue", "delete", "q"],
    ])
    func aMissingFileIsNotMade(arguments: [String]) async throws {
        let tool = try Tool.empty()
        let outcome = try await tool.fail(arguments, with: 66, saying: "There is no Penstock file at")
        #expect(outcome.errors.contains("`penstock queue create NAME` makes one."))
        #expect(!FileManager.default.fileExists(atPath: "\(tool.folder)/test.db"))
    }

    @Test(arguments: [
        ["enqueue", "x", "payload"], ["enqueue", "x", "--lines"], ["work", "x", "--", "true"], ["status", "x"],
        ["log", "x"], ["replay", "x", "--from", "1"], ["prune", "x"], ["cancel", "--queue", "x"],
        ["dead", "redrive", "--queue", "x"], ["queue", "show", "x"], ["queue", "set", "x", "--attempts", "1"],
        ["queue", "pause", "x"], ["queue", "resume", "x"], ["queue", "delete", "x"], ["list", "x"],
        ["dead", "list", "x"],
    ])
    func anUnknownQueueIsNotMade(arguments: [String]) async throws {
        let tool = try await Tool.withQueue()
        let outcome = try await tool.fail(arguments, with: 66, saying: "There is no queue 'x' in")
        #expect(outcome.errors.contains("`penstock queue create x` makes it."))
        #expect(try await tool.sql("SELECT queue FROM penstock_queues") == "q\n")
    }

    @Test func whatAnErrorTellsToTypeCanBeTyped() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(
            ["enqueue", "it's; two", "x"], with: 66, saying: #"`penstock queue create 'it'\''s; two'` makes it."#)
        try await tool.fail(["enqueue", "-x", "y", "--"], with: 64, saying: "-x")
    }

    @Test func aFileThatIsNoDatabaseIsLeftAsItIs() async throws {
        let tool = try Tool.empty()
        let bytes = Array("This is a letter, and no database.\n".utf8) + [UInt8](repeating: 0x20, count: 8192)
        let path = try tool.file("test.db", bytes)
        for arguments in [["enqueue", "q", "x"], ["queue", "create", "q"], ["status"], ["migrate"], ["doctor"]] {
            try await tool.fail(arguments, with: 65, saying: "test.db")
            #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
        }
    }

    @Test func aFileThatCannotBeMadeSaysSo() async throws {
        let tool = try Tool.empty()
        try await tool.fail(
            ["queue", "create", "q", "--db", "no/such/folder/test.db"], with: 73, saying: "no/such/folder/test.db")
        try await tool.fail(["enqueue", "q", "x", "--create", "--db", ""], with: 64, saying: "cannot be empty")
    }

    @Test func anInputThatCannotBeReadSaysSo() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(["enqueue", "q", "--file", "missing"], with: 66, saying: "missing cannot be read")
        try await tool.fail(
            ["enqueue", "q", "--lines", "--file", "missing"], with: 66, saying: "missing cannot be read")
        try await tool.fail(["enqueue", "q", "--file", "/"], with: 74, saying: "/ cannot be read")
        try await tool.fail(["enqueue", "q", "--lines", "--file", "/"], with: 74, saying: "/ cannot be read")
        #expect(try await tool.succeed(["log", "q"]).output == "")
    }

    @Test func aPayloadBeyondTheLimitIsRefused() async throws {
        let tool = try await Tool.withQueue()
        let large = [UInt8](repeating: 0x61, count: 16 * 1024 * 1024 + 1)
        try await tool.fail(
            ["enqueue", "q"], input: large, with: 64, saying: "more than 16777216 bytes (payloadBytesMax)")
        #expect(try await tool.succeed(["log", "q"]).output == "")
    }

    @Test func anArgumentThatIsNotTextIsRefused() async throws {
        let tool = try await Tool.withQueue()
        let arguments = Arguments(["enqueue", "q"].map { Array($0.utf8) + [0] } + [[0x61, 0xFF, 0]])
        let result = try await Subprocess.run(
            .path(Tool.path), arguments: arguments, environment: .inherit.updating(tool.variables), output: .discarded,
            error: .string(limit: 4096))
        #expect(result.terminationStatus == .exited(64))
        #expect(result.standardError.hasPrefix("penstock: Argument 3 is not UTF-8; "))
    }
}
