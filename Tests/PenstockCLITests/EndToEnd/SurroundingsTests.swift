import Foundation
import Subprocess
import Testing

@testable import PenstockCLI

/// What the command makes of its surroundings, and hands on of them.
@Suite(.timeLimit(.minutes(5)))
struct SurroundingsTests {
    /// Also where a program may raise priorities, as root's may, and threads have other ones than the program.
    @Test(arguments: ["", "--lines"])
    func commandsHaveTheNiceValueOfTheWorker(option: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        // A command of lines says of each that it is done.
        let command = option.isEmpty ? "nice" : "'read -r line; nice >&2; nice > nice; echo ok'"
        let shell = option.isEmpty ? "" : "sh -c "
        let script = "nice; nice -n 3 nice; nice -n 3 \"$0\" work q --max 1 \(option) -- \(shell)\(command)"
        let found = try await tool.run(script: script)
        var lines = found.output.split(separator: "\n").map(String.init)
        if !option.isEmpty {
            let written = try String(contentsOfFile: "\(tool.folder)/nice", encoding: .utf8)
            lines = Array(lines.prefix(2)) + [written.trimmingCharacters(in: .newlines)]
        }
        #expect(lines.count == 3 && lines[1] == lines[2] && lines[0] != lines[1], "\(lines)")
    }

    /// A parent that waits for no children may leave that to what it starts.
    @Test(arguments: [[], ["--lines"]])
    func howACommandEndsIsKnownWhereTheParentIgnoresIt(options: [String]) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let script = #"exec /bin/bash -c 'trap "" CHLD; exec "$0" "$@"' "$0" "$@""#
        let worked = try await tool.run(script: script, ["work", "q", "--drain"] + options + ["--", "cat"])
        #expect(worked.status == .exited(0), "\(worked.errors)")
        #expect(worked.errors == "")
        #expect(try await tool.payloads("done") == ["x"])
    }

    /// The standard library looks for the arguments where the environment was at the start.
    @Test func theArgumentsAreThereWhereALibraryMovesTheEnvironment() async throws {
        #if os(Linux)
            let tool = try await Tool.withQueue()
            let source = """
                #define _GNU_SOURCE
                #include <dlfcn.h>
                #include <stdio.h>
                #include <stdlib.h>
                FILE *fopen(const char *path, const char *mode) {
                    setenv("MOVED", "1", 1);
                    FILE *(*next)(const char *, const char *) = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
                    return next(path, mode);
                }
                """
            let file = try tool.file("moves.c", source.utf8)
            let made = try await tool.run(script: "cc -shared -fPIC -o moves.so \"$1\" -ldl", [file])
            guard made.status == .exited(0) else { try Test.cancel("There is no compiler of C here.") }
            let script = #"exec env LD_PRELOAD="$PWD/moves.so" "$0" "$@""#
            let refused = try await tool.run(script: script, ["nonsense"])
            #expect(refused.status == .exited(64), "\(refused.output)")
            let stored = try await tool.run(script: script, ["enqueue", "q", "x"])
            #expect(stored.status == .exited(0) && stored.output == "1\n", "\(stored.output)")
            // The same words go on to the program that the process becomes.
            let served = try await tool.run(script: script, ["serve", "--nonsense"])
            #expect(served.status == .exited(64), "\(served.output)")
        #endif
    }

    /// As in an image that has no shell.
    @Test func aWorkerThatFindsNoShellClaimsNothingAndSaysSo() async throws {
        #if os(Linux)
            let tool = try await Tool.withQueue()
            try await tool.succeed(["enqueue", "q", "x"])
            let before =
                #"exec unshare --mount --propagation private sh -c 'mount --bind /dev/null /bin/sh && exec "$@"' sh "#
            guard try await tool.run(script: before + "true").status == .exited(0) else {
                try Test.cancel("Nobody may hide /bin/sh here; a namespace for that needs root.")
            }
            let worked = try await tool.run(script: before + #""$0" "$@""#, ["work", "q", "--drain", "--", "cat"])
            #expect(worked.status == .exited(126), "\(worked.output)")
            #expect(worked.errors.hasPrefix("penstock: `work` guards its commands by a process of /bin/sh, which"))
            #expect(try await tool.payloads("ready") == ["x"])
        #endif
    }

    @Test func theEnvironmentOfCommandsIsTheSameByteForByte() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let found = try await tool.run(
            script: #"ODD=$(printf 'a\377b') EMPTY= PENSTOCK_SEQUENCE=9 "$0" work q --max 1 -- env"#)
        let lines = found.bytes.split(separator: UInt8(ascii: "\n"))
        #expect(lines.contains(ArraySlice(Array("ODD=a".utf8) + [0xFF, UInt8(ascii: "b")])))
        #expect(lines.contains(ArraySlice("EMPTY=".utf8)))
        #expect(lines.filter { $0.starts(with: "PENSTOCK_SEQUENCE=".utf8) } == [ArraySlice("PENSTOCK_SEQUENCE=1".utf8)])
    }

    /// Such a name is none that a shell could set.
    @Test(arguments: ["text", #"$(printf 'a\377b')"#])
    func aVariableWhoseNameBeginsWithADigitIsInNobodysWay(other: String) async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let found = try await tool.run(
            script: #"env 1X=y OTHER="\#(other)" "$0" work q --max 1 -- sh -c 'printf %s "$PENSTOCK_QUEUE"'"#)
        #expect(found.status == .exited(0) && found.output == "q")
    }

    @Test func aNameOfAStoreThatIsNoTextIsRefused() async throws {
        let tool = try await Tool.withQueue()
        let found = try await tool.run(script: #"PENSTOCK_DB=$(printf 'q\377.db') "$0" queue create one"#)
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
        let found = try await tool.run(script: #""$0" log q --follow --last 1 | head -n 1"#)
        #expect(found.status == .exited(0) && !found.output.isEmpty)
    }
}
