import Foundation
import PenstockPostgresMigrations
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// `penstock --db postgres://…`: the same commands, the same answers, the same statuses.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct CommandTests {
    @Test func commandsWorkInADatabase() async throws {
        let tool = try Tool()
        #expect(try await tool.succeed(["queue", "create", "mail"]) == "Queue mail created.\n")
        #expect(try await tool.succeed(["enqueue", "mail", "hello"]) == "1\n")
        #expect(try await tool.succeed(["--db=\(tool.url)", "list", "mail"], at: "elsewhere.db").contains("hello"))
        // A time that is long past is told from one that is too far ahead by the server's clock, before anything was asked of it.
        #expect(try await tool.succeed(["enqueue", "mail", "late", "--expires", "2020-01-01"]) == "2\n")
        let script = #"read -r line || true; echo "$line in $PENSTOCK_DB""#
        #expect(
            try await tool.succeed(["work", "mail", "--drain", "--", "sh", "-c", script]) == "hello in \(tool.url)\n")
        #expect(try await tool.succeed(["why", "2"]).contains("it had not started by the time it expired"))
        let lines = (1...10_000).map { "\($0)\n" }.joined()
        #expect(
            try await tool.succeed(["enqueue", "mail", "--lines"], input: lines)
                == "10000 messages enqueued (3 to 10002).\n")
        #expect(try await tool.succeed(["log", "mail", "--last", "1"]).hasSuffix("  10002  ready  10000\n"))
    }

    /// A worker's death is seen by its sessions, which end with it, and not by its leases, which have half a minute left.
    @Test func anotherWorkerHasTheMessageOfAKilledOne() async throws {
        let tool = try Tool()
        try await tool.succeed(["queue", "create", "q"])
        try await tool.succeed(["enqueue", "q", "x"])
        let arguments = ["work", "q", "--", "sh", "-c", "echo began; exec sleep 1000"]
        let end = try await Subprocess.run(
            .path(Tool.path), arguments: Arguments(arguments), environment: Tool.environment(tool.url),
            input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await _ in execution.standardOutput { try execution.send(signal: .kill) }
        }
        #expect(end.terminationStatus == .signaled(SIGKILL))
        let clock = ContinuousClock.now
        let heir = ["work", "q", "--max", "1", "--", "sh", "-c", "echo $PENSTOCK_ATTEMPT"]
        #expect(try await tool.succeed(heir) == "2\n")
        #expect(clock.duration(to: .now) < .seconds(25))
        #expect(try tool.sql("SELECT 1 FROM penstock_attempts WHERE outcome = 'workerDied'") == 1)
    }

    @Test(arguments: [
        ["status"], ["list"], ["queue", "list"], ["queue", "show", "q"], ["log", "q"], ["show", "1"], ["why", "1"],
        ["dead", "list"], ["group", "list", "q"], ["limit", "list"], ["schedule", "list"], ["workflow", "list"],
        ["enqueue", "q", "x"], ["work", "q", "--drain", "--", "true"], ["queue", "pause", "q"], ["prune"],
    ])
    func whatDoesNotMakeQueuesMakesNothing(_ arguments: [String]) async throws {
        let tool = try Tool()
        try await tool.fail(
            arguments, with: 66,
            saying: "has none of Penstock's tables in its schema \(tool.schema); `penstock queue create` makes")
        #expect(try !tool.isThere())
        // Nor where somebody else has his tables.
        try tool.sql("CREATE SCHEMA \(tool.schema); CREATE TABLE \(tool.schema).orders (id INT)")
        try await tool.fail(arguments, with: 65, saying: "belongs to another program (it has 'orders')")
    }

    @Test func migrateMakesTheTablesAndBringsThemUpToDate() async throws {
        let tool = try Tool()
        let names = PostgresMigration.all.map { "\"\($0.name)\"" }.joined(separator: ",")
        let made = try await tool.succeed(["migrate", "--json"])
        #expect(made.hasSuffix("\"created\":true,\"steps\":[\(names)]}\n"))
        #expect(try await tool.succeed(["migrate"]).hasSuffix(" is up to date.\n"))
        try tool.sql("DROP SCHEMA \(tool.schema) CASCADE")
        try SchemaMigrator(try ServerAddress(tool.url), busyMax: .seconds(60)).migrate(to: 13)
        try await tool.fail(["status"], with: 78, saying: "run `penstock migrate` to bring it up to date")
        #expect(try await PostgresStore.migrate(url: tool.url).first == "old_snapshots")
        try await tool.succeed(["status"])
        try tool.sql("INSERT INTO penstock_migration (version, name, applied_at) VALUES (1000, 'later', 0)")
        for command in ["status", "migrate"] {
            try await tool.fail([command], with: 78, saying: "use a newer penstock")
        }
    }

    @Test func whoeverOnlyReadsNeedsNoMoreRight() async throws {
        let tool = try Tool()
        try await tool.succeed(["queue", "create", "q"])
        try await tool.succeed(["enqueue", "q", "x"])
        let role = "reader_\(tool.schema)"
        try tool.sql("CREATE ROLE \(role) LOGIN")
        let url = tool.url.replacing("//penstock@", with: "//\(role)@")
        try await tool.fail(["status"], at: url, with: 77, saying: "permission denied for schema")
        try tool.sql(
            "GRANT USAGE ON SCHEMA \(tool.schema) TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA \(tool.schema) TO \(role)"
        )
        // After a crash of the server whoever writes first makes a row, which is none of a reader's business.
        try tool.sql("DELETE FROM penstock_incarnation")
        #expect(try await tool.succeed(["list", "q"], at: url).contains("ready"))
        try await tool.succeed(["log", "q"], at: url)
        try await tool.fail(["enqueue", "q", "y"], at: url, with: 77, saying: "permission denied")
    }

    @Test(arguments: [
        (["backup", "b"], "use pg_dump or pg_basebackup"), (["restore", "b"], "use pg_restore"),
        (["doctor", "--repair"], "nothing is repaired there"),
    ])
    func whatNeedsAFileSaysSo(_ arguments: [String], _ advice: String) async throws {
        try await Tool().fail(arguments, with: 64, saying: advice)
    }
}
