import Foundation
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Real processes on a database: whatever is killed, what was acknowledged is done, and only what ran at a kill runs again.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct CommandKillTests {
    private static let script = #"IFS= read -r line; echo "$PENSTOCK_SEQUENCE $PENSTOCK_ATTEMPT $line""#
    private static let work = ["work", "q", "--concurrency", "2", "--", "sh", "-c", script]

    /// What a command noted of its message.
    private struct Note: Hashable {
        let sequence: Int
        let attempt: Int
        let line: String

        init(_ text: String) throws {
            let parts = text.split(separator: " ", maxSplits: 2)
            try #require(parts.count == 3, "\(text)")
            sequence = try #require(Int(parts[0]))
            attempt = try #require(Int(parts[1]))
            line = String(parts[2])
        }
    }

    @Test func nothingIsLostWhenProducersAndWorkersAreKilled() async throws {
        let environment = ProcessInfo.processInfo.environment
        let roundCount = 20 * max(1, Int(environment["PENSTOCK_PROOF_SCALE"] ?? "") ?? 1)
        let random = SeededRandom(
            seed: UInt64(environment["PENSTOCK_PROOF_SEED"] ?? "") ?? UInt64.random(in: 1...UInt64(UInt32.max)))
        let comment: Comment = "PENSTOCK_PROOF_SEED=\(random.seed)"
        let tool = try Tool()
        let (lines, ignored) = (ToolLines(), ToolLines())
        let file = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await tool.succeed(["queue", "create", "q"])
        var workers: [RunningTool] = []
        for _ in 1...2 { workers.append(try RunningTool(Self.work, at: tool.url, to: lines)) }
        var (acknowledged, doomed, notes): ([String], [[String]], [String]) = ([], [], [])
        for round in 1...roundCount {
            let batch = (1...10).map { "round \(round) line \($0)" }
            try await tool.succeed(["enqueue", "q", "--lines"], input: batch.joined(separator: "\n") + "\n")
            acknowledged += batch
            // Killed at some point of its work, or after it.
            doomed.append((1...10).map { "doomed \(round) line \($0)" })
            try Data((doomed[round - 1].joined(separator: "\n") + "\n").utf8).write(to: file)
            let producer = try RunningTool(["enqueue", "q", "--lines", "--file", file.path], at: tool.url, to: ignored)
            notes += await lines.next(random.next(in: 1...9))
            producer.send(SIGKILL)
            let index = random.next(in: 0...1)
            workers[index].send(SIGKILL)
            _ = await producer.end()
            _ = await workers[index].end()
            workers[index] = try RunningTool(Self.work, at: tool.url, to: lines)
        }
        for worker in workers { worker.send(SIGKILL) }
        for worker in workers { _ = await worker.end() }
        lines.closeWriteEnd()
        notes += await lines.next(.max)
        let drain = ["work", "q", "--concurrency", "4", "--drain", "--", "sh", "-c", Self.script]
        notes += try await tool.succeed(drain).split(separator: "\n").map(String.init)
        try check(tool, notes.map(Note.init), acknowledged, doomed, killCount: roundCount + 2, comment)
    }

    private func check(
        _ tool: Tool, _ notes: [Note], _ acknowledged: [String], _ doomed: [[String]], killCount: Int,
        _ comment: Comment
    ) throws {
        let rows = try tool.column(
            "SELECT sequence || ' ' || attempt || ' ' || payload FROM penstock_messages WHERE state = 'done'"
        ).map(Note.init)
        let there = Set(rows.map(\.line))
        #expect(there.count == rows.count, "a line is there twice; \(comment)")
        #expect(there.isSuperset(of: acknowledged), comment)
        for batch in doomed { #expect([0, batch.count].contains(there.intersection(batch).count), comment) }
        #expect(try tool.column("SELECT count(*) FROM penstock_messages WHERE state <> 'done'") == ["0"], comment)
        // Each was worked, and an attempt only once.
        #expect(Set(notes).count == notes.count, comment)
        #expect(Set(notes).isSuperset(of: rows), comment)
        let ends = try tool.column("SELECT outcome FROM penstock_attempts")
        #expect(ends.allSatisfy { $0 == "workerDied" }, "\(Set(ends)); \(comment)")
        #expect(rows.reduce(0) { $0 + $1.attempt - 1 } == ends.count, comment)
        #expect(ends.count <= killCount * 2, "a worker runs two at a time; \(comment)")
    }

    @Test func everyLineIsWorkedExactlyOnceWhenNothingIsKilled() async throws {
        let tool = try Tool()
        let count = 500
        try await tool.succeed(["queue", "create", "q"])
        try await tool.succeed(
            ["enqueue", "q", "--lines"], input: (1...count).map { "line \($0)\n" }.joined())
        let lines = ToolLines()
        let work = ["work", "q", "--concurrency", "4", "--drain", "--", "sh", "-c", "echo $PPID $(\(Self.script))"]
        let workers = [try RunningTool(work, at: tool.url, to: lines), try RunningTool(work, at: tool.url, to: lines)]
        lines.closeWriteEnd()
        let noted = await lines.next(.max).map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        for worker in workers { #expect(await worker.end() == 0) }
        #expect(noted.map { $0[1] }.sorted() == (1...count).map { "\($0) 1 line \($0)" }.sorted())
        #expect(Set(noted.map { $0[0] }).count == 2, "both workers had work")
        #expect(try tool.column("SELECT count(*) FROM penstock_attempts") == ["0"])
        #expect(try tool.column("SELECT done_total FROM penstock_queues") == ["\(count)"])
    }
}
