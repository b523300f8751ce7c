import Foundation
import PenstockCore
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// A pooler in between: one of transactions ruins a queue, one of sessions does not.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(
        if: PostgresServer.programs != nil && Pooler.program != nil, "This machine has no PostgreSQL or no PgBouncer."))
struct PoolerTests {
    @Test(arguments: ["transaction", "session"]) func aPoolerIsFound(_ mode: String) async throws {
        let server = try PostgresServer.shared.get()
        let schema = PostgresServer.newName()
        try await PostgresStore.open(url: server.url(schema: schema)).close()
        let pooler = try Pooler(mode, serverFolder: server.socketFolder)
        let url = pooler.url(schema: schema)
        let address = try ServerAddress(url)
        try await eventually { (try? ServerConnection(address)) != nil }
        let found = try await PostgresStore.inspectHealth(url: url).findings.filter { $0.kind == .pooled }
        #expect(found.count == 1)
        #expect(found.first?.severity == (mode == "session" ? .note : .error))
        #expect(found.first?.message.contains("`pool_mode = session`") == true)
        let direct = try await PostgresStore.inspectHealth(url: server.url(schema: schema)).findings
        #expect(!direct.contains { $0.kind == .pooled })
        withExtendedLifetime(pooler) {}
    }

    /// A session that is a process's own ends with it, so the dead are found behind such a pooler as well.
    @Test func aPoolerOfSessionsIsInNobodysWay() async throws {
        let tool = try Tool()
        let pooler = try Pooler("session", serverFolder: PostgresServer.shared.get().socketFolder)
        let url = pooler.url(schema: tool.schema)
        let address = try ServerAddress(url)
        try await eventually { (try? ServerConnection(address)) != nil }
        try await tool.succeed(["queue", "create", "q"], at: url)
        try await tool.succeed(["enqueue", "q", "x"], at: url)
        let end = try await Subprocess.run(
            .path(Tool.path), arguments: Arguments(["work", "q", "--", "sh", "-c", "echo began; exec sleep 1000"]),
            environment: Tool.environment(url), input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await _ in execution.standardOutput { try execution.send(signal: .kill) }
        }
        #expect(end.terminationStatus == .signaled(SIGKILL))
        let clock = ContinuousClock.now
        let heir = ["work", "q", "--max", "1", "--", "sh", "-c", "echo $PENSTOCK_ATTEMPT"]
        #expect(try await tool.succeed(heir, at: url) == "2\n")
        #expect(clock.duration(to: .now) < .seconds(25))
        withExtendedLifetime(pooler) {}
    }
}
