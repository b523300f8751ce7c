import Foundation
import PenstockTestKit
import Subprocess
import Testing

/// The built `penstock`, with a folder and a file of its own.
struct Tool: Sendable {
    /// How a run of it ended.
    struct Outcome: Sendable {
        var status: TerminationStatus
        var bytes: [UInt8]
        var errors: String

        var output: String { String(decoding: bytes, as: UTF8.self) }
        var lines: [String] {
            output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        }

        /// The output's only line as JSON.
        func object() throws -> JSONObject {
            try JSONObject(#require(lines.count == 1 ? lines.first : nil))
        }

        /// The output's lines as JSON.
        func objects() throws -> [JSONObject] {
            try lines.map { try JSONObject($0) }
        }
    }

    /// Removed with the last one that uses it.
    private let room: TemporaryFolder
    var variables: [Environment.Key: String?]

    var folder: String { room.path }

    /// Where the steps of the schema lie, a file each.
    static let schema = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Migrations/SQL")

    /// A tool whose file does not exist yet.
    static func empty() throws -> Tool {
        let room = TemporaryFolder()
        return Tool(room: room, variables: ["PENSTOCK_DB": "\(room.path)/test.db"])
    }

    /// A tool whose file has the queue `q`.
    static func withQueue(_ policy: String...) async throws -> Tool {
        let tool = try empty()
        try await tool.succeed(["queue", "create", "q"] + policy)
        return tool
    }

    /// Where the build put the program: beside the test bundle.
    static let path = FilePath(BuiltPrograms.path("penstock"))

    /// A file of the folder, with `bytes` in it.
    func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(folder)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// Runs the program to its end.
    @discardableResult
    func run(_ arguments: [String], input: [UInt8]? = nil) async throws -> Outcome {
        try await run(Self.path, arguments, input: input)
    }

    /// Runs a script in which `"$0"` is the program, and `"$@"` its arguments.
    func run(script: String, _ arguments: [String] = [], input: [UInt8]? = nil) async throws -> Outcome {
        try await run("/bin/sh", ["-c", script, "\(Self.path)"] + arguments, input: input)
    }

    /// Runs the program to its end, without a standard output.
    func runWithoutOutput(_ arguments: [String], input: [UInt8]? = nil) async throws -> Outcome {
        try await run(script: "exec \"$0\" \"$@\" >&-", arguments, input: input)
    }

    /// Runs the program to its end. Its standard output is a pipe whose reader has ended.
    func runWithoutReader(_ arguments: [String], input: [UInt8]? = nil) async throws -> Outcome {
        let script = #"mkfifo "$PIPE" && exec 3<>"$PIPE" 4>"$PIPE" 3>&- && exec "$0" "$@" >&4 4>&-"#
        return try await run(
            "/usr/bin/env",
            ["PIPE=\(folder)/pipe-\(UUID().uuidString)", "/bin/sh", "-c", script, "\(Self.path)"] + arguments,
            input: input)
    }

    private func run(_ path: FilePath, _ arguments: [String], input: [UInt8]?) async throws -> Outcome {
        let source: FileDescriptor
        if let input {
            source = try .open(FilePath(try file("input-\(UUID().uuidString)", input)), .readOnly)
        } else {
            source = try .open("/dev/null", .readOnly)
        }
        let result = try await Subprocess.run(
            .path(path), arguments: Arguments(arguments), environment: .inherit.updating(variables),
            workingDirectory: FilePath(folder), input: .fileDescriptor(source, closeAfterSpawningProcess: true),
            output: .bytes(limit: 256 << 20), error: .bytes(limit: 16 << 20))
        return Outcome(
            status: result.terminationStatus, bytes: result.standardOutput,
            errors: String(decoding: result.standardError, as: UTF8.self))
    }

    /// Runs the program, and records an issue when it does not end well.
    @discardableResult
    func succeed(
        _ arguments: [String], input: [UInt8]? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await run(arguments, input: input)
        #expect(outcome.status == .exited(0), "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome
    }

    /// Runs the program, and records an issue unless it ends with `status` and one sentence that contains `words`.
    @discardableResult
    func fail(
        _ arguments: [String], input: [UInt8]? = nil, with status: Int32, saying words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await run(arguments, input: input)
        #expect(outcome.status == .exited(status), "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        #expect(outcome.errors.hasPrefix("penstock: "), "\(outcome.errors)", sourceLocation: sourceLocation)
        #expect(outcome.errors.contains(words), "\(outcome.errors)", sourceLocation: sourceLocation)
        #expect(outcome.output == "", sourceLocation: sourceLocation)
        return outcome
    }

    /// What the sqlite3 shell says to `statements` on the file.
    func sql(_ statements: String) async throws -> String {
        let result = try await Subprocess.run(
            .name("sqlite3"), arguments: ["-bail", "\(folder)/test.db", statements], output: .string(limit: 1 << 24),
            error: .string(limit: 1 << 16))
        return result.standardOutput + result.standardError
    }

    /// The payloads of all messages in `state`, in order.
    func payloads(_ state: String, queue: String = "q") async throws -> [String] {
        try await succeed(["list", queue, "--state", state, "--json", "--limit", "10000"]).objects().map {
            $0["payload"].text
        }
    }
}
