import Foundation
import Subprocess
import Testing

@testable import PenstockCLI

/// What the command makes of its surroundings, and hands on of them.
@Suite(.timeLimit(.minutes(2)))
struct SurroundingsTests {
    /// Runs a script in which `"$0"` is the program.
    private func run(_ script: String, in tool: Tool) async throws -> (status: TerminationStatus, output: [UInt8]) {
        let result = try await Subprocess.run(
            .path("/bin/sh"), arguments: ["-c", script, "\(Tool.path)"], environment: .inherit.updating(tool.variables),
            workingDirectory: .init(tool.folder), output: .bytes(limit: 1 << 20), error: .discarded)
        return (result.terminationStatus, result.standardOutput)
    }

    /// Also where a program may raise priorities, as root's may, and threads have other ones than the program.
    @Test(arguments: ["", "--lines"])
    func commandsHaveTheNiceValueOfTheWorker(option: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        // A command of lines says of each that it is done.
        let command = option.isEmpty ? "nice" : "'read -r line; nice >&2; nice > nice; echo ok'"
        let shell = option.isEmpty ? "" : "sh -c "
        let script = "nice; nice -n 3 nice; nice -n 3 \"$0\" work q --max 1 \(option) -- \(shell)\(command)"
        let found = try await run(script, in: tool)
        var lines = String(decoding: found.output, as: UTF8.self).split(separator: "\n").map(String.init)
        if !option.isEmpty {
            let written = try String(contentsOfFile: "\(tool.folder)/nice", encoding: .utf8)
            lines = Array(lines.prefix(2)) + [written.trimmingCharacters(in: .newlines)]
        }
        #expect(lines.count == 3 && lines[1] == lines[2] && lines[0] != lines[1], "\(lines)")
    }

    @Test func theEnvironmentOfCommandsIsTheSameByteForByte() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let script =
            #"ODD=$(printf 'a\377b') EMPTY= "$0" work q --max 1 -- sh -c 'printf "%s|%s|%s" "$ODD" "${EMPTY-unset}" "$PENSTOCK_SEQUENCE"'"#
        let found = try await run(script, in: tool)
        #expect(found.output == [0x61, 0xFF, 0x62] + Array("||1".utf8))
    }

    /// Such a name is none that a shell could set.
    @Test(arguments: ["text", #"$(printf 'a\377b')"#])
    func aVariableWhoseNameBeginsWithADigitIsInNobodysWay(other: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let found = try await run(
            #"env 1X=y OTHER="\#(other)" "$0" work q --max 1 -- sh -c 'printf %s "$PENSTOCK_QUEUE"'"#, in: tool)
        #expect(found.status == .exited(0) && found.output == Array("q".utf8))
    }

    @Test func aNameOfAStoreThatIsNoTextIsRefused() async throws {
        let tool = try await Tool.withQueue()
        let found = try await run(#"PENSTOCK_DB=$(printf 'q\377.db') "$0" queue create one"#, in: tool)
        #expect(found.status == .exited(64))
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.folder).filter { $0.hasPrefix("q") } == [])
    }

    /// More than a pipe holds.
    @Test func aLargePayloadNeedsNoFolder() async throws {
        #if os(Linux)
            var tool = try await Tool.withQueue()
            tool.variables["TMPDIR"] = "/nonexistent"
            try await tool.succeed([
                "enqueue", "q", "--file", tool.file("large", [UInt8](repeating: 7, count: 100_000)),
            ])
            let worked = try await tool.succeed(["work", "q", "--drain", "--", "wc", "-c"])
            #expect(worked.output.trimmingCharacters(in: .whitespacesAndNewlines) == "100000")
        #endif
    }

    @Test func aFollowedLogEndsWithItsReader() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let found = try await run(#""$0" log q --follow --last 1 | head -n 1"#, in: tool)
        #expect(found.status == .exited(0) && !found.output.isEmpty)
    }
}
