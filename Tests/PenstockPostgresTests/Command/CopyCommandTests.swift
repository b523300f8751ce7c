import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// `penstock copy` as people use it: between files and databases, killed in the middle, with processes that had the source open.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct CopyCommandTests {
    private let folder = TemporaryFolder()
    private var file: String { folder.file("queue.db") }

    private func fill(_ tool: Tool, count: Int) async throws {
        try await tool.succeed(["queue", "create", "mail"], at: file)
        let lines = (1...count).map { "\($0)\n" }.joined()
        try await tool.succeed(["enqueue", "mail", "--lines"], at: file, input: lines)
    }

    @Test func aFileMovesIntoADatabase() async throws {
        let tool = try Tool()
        try await fill(tool, count: 3)
        // What --db says, or the environment, is another store's business.
        let dry = try await tool.succeed(["copy", "--from", file, "--to", tool.url, "--dry-run"], at: "elsewhere.db")
        #expect(
            dry
                == "QUEUE  READY\nmail       3\n3 messages would be copied into a new store, with the numbers that they have.\n"
        )
        #expect(try !tool.isThere())
        let done = try await tool.succeed(["copy", "--from=\(file)", "--to=\(tool.url)"], at: "elsewhere.db")
        #expect(
            done == """
                QUEUE  READY
                mail       3
                3 messages of \(file) were counted in \(tool.url), with the same numbers. \(file) is closed; `penstock copy --cancel \
                --from \(file)` says how it is opened again.

                """)
        try await tool.fail(
            ["enqueue", "mail", "x"], at: file, with: 69, saying: "have moved to \(tool.url); use that store")
        #expect(try await tool.succeed(["list", "mail"], at: file).contains("ready"))
        #expect(try await tool.succeed(["enqueue", "mail", "x"]) == "4\n")
        #expect(try await tool.succeed(["copy", "--from", file, "--to", tool.url]).contains(" had moved to "))
        try await tool.fail(
            ["copy", "--from", file, "--cancel"], with: 64, saying: "have moved to \(tool.url), and may be open there")
        try await tool.fail(
            ["copy", "--from", file, "--to", tool.url, "--cancel"], with: 64, saying: "delete them there")
        try await tool.succeed(["queue", "delete", "mail", "--force"])
        let opened = try await tool.succeed(["copy", "--from", file, "--to", tool.url, "--cancel"])
        #expect(opened.contains("takes messages again"))
        #expect(try await tool.succeed(["enqueue", "mail", "x"], at: file) == "4\n")
    }

    /// Killed at any moment, and run again.
    @Test(arguments: 1...6) func nothingIsLostByAKill(_ seed: UInt64) async throws {
        let tool = try Tool()
        let random = SeededRandom(seed: seed)
        try await fill(tool, count: 4000)
        try await tool.succeed(["migrate"])
        let arguments = Arguments(["copy", "--from", file, "--to", tool.url])
        for _ in 1...3 {
            // Once it has come so far, or beyond.
            let place = "stage > 0 OR place >= \(random.next() % 4000)"
            let end = try await Subprocess.run(
                .path(Tool.path), arguments: arguments, input: .none, output: .discarded, error: .discarded
            ) { execution in
                while try tool.sql("SELECT 1 FROM penstock_arrival WHERE \(place)") == 0 { await Task.yield() }
                try? execution.send(signal: .kill)
            }
            if end.terminationStatus == .exited(0) { break }
        }
        let done = try await tool.succeed(["copy", "--from", file, "--to", tool.url, "--json"])
        #expect(done.contains("\"copied\":4000,\"sequenceOffset\":0"))
        #expect(try tool.sql("SELECT 1 FROM penstock_ready") == 4000)
        #expect(try tool.sql("SELECT 1 FROM penstock_log WHERE payload = convert_to(sequence::TEXT, 'UTF8')") == 4000)
        #expect(try tool.sql("SELECT 1 FROM penstock_depth WHERE ready = 4000 AND enqueued_total = 4000") == 1)
    }

    /// A producer and a worker that have had the file open all the while.
    @Test func processesThatHadItOpenAreRefused() async throws {
        let tool = try Tool()
        try await fill(tool, count: 1)
        let environment = Tool.environment(file)
        let worker = try await Subprocess.run(
            .path(Tool.path), arguments: ["work", "mail", "--", "cat"], environment: environment, input: .none,
            output: .sequence, error: .discarded
        ) { execution in
            // It has said that it works, and goes on until it is refused.
            for try await _ in execution.standardOutput {
                try await tool.succeed(["copy", "--from", file, "--to", tool.url, "--wait", "30s"])
            }
        }
        #expect(worker.terminationStatus == .exited(69))
        #expect(try tool.sql("SELECT 1 FROM penstock_depth WHERE done_total = 1 AND ready = 0") == 1)
    }

    @Test func whatIsWrongIsSaidInOneSentence() async throws {
        let tool = try Tool()
        try await tool.fail(
            ["copy", "--from", file, "--to", tool.url], with: 66, saying: "There is no Penstock file at \(file)")
        try await fill(tool, count: 1)
        try await tool.fail(["copy", "--from", file, "--to", file], with: 64, saying: "is the source and the target")
        try await tool.fail(
            ["copy", "--from", file, "--to", "postgres://mill:geheim@127.0.0.1:1/x"], with: 69,
            saying: "cannot be reached")
        try await tool.fail(
            ["copy", "--from", file, "--to", "http://127.0.0.1:1"], with: 64,
            saying: "is a server; run it on that machine")
        try await tool.fail(
            ["copy", "--from", file, "--to", "mysql://x/y"], with: 64, saying: "is no address of a store")
        try await tool.fail(["copy", "--from", file, "--to", "/nowhere/x.db"], with: 73, saying: "/nowhere/x.db")
        try await tool.succeed(["queue", "create", "mail"])
        try await tool.fail(
            ["copy", "--from", file, "--to", tool.url], with: 73, saying: "has a queue called 'mail' of its own")
        try await tool.succeed(["enqueue", "mail", "still open"], at: file)
    }
}
