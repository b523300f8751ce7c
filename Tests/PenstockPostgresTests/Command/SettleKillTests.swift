import Foundation
import PenstockCore
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// Commands that settle in transactions of their own, by `psql`, and are killed: each message's effect is there once.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(
        if: PostgresServer.programs != nil && FileManager.default.isExecutableFile(atPath: "/usr/bin/psql"),
        "This machine has no PostgreSQL, or no psql."))
struct SettleKillTests {
    /// One transaction: the effect, the verdict, and a message that follows. Between them there is time to die.
    private func script(_ tool: Tool) -> String {
        """
        cat > /dev/null
        exec /usr/bin/psql -X -q -v ON_ERROR_STOP=1 "$ADDRESS" <<END
        SET client_min_messages = error; SET application_name = 'application';
        BEGIN;
        INSERT INTO \(tool.schema).effect VALUES ($PENSTOCK_SEQUENCE);
        SELECT pg_sleep(random() * 0.01);
        SELECT \(tool.schema).penstock_done($PENSTOCK_SEQUENCE, $PENSTOCK_LEASE);
        SELECT \(tool.schema).penstock_enqueue('next', '$PENSTOCK_SEQUENCE');
        SELECT pg_sleep(random() * 0.01);
        COMMIT;
        END
        """
    }

    @Test(arguments: [1, 2] as [UInt64]) func eachEffectIsThereOnce(seed: UInt64) async throws {
        let tool = try Tool()
        let random = SeededRandom(seed: seed)
        let count = 60
        try await tool.succeed(["queue", "create", "work", "--retry-base", "1ms", "--attempts", "1000"])
        try await tool.succeed(["queue", "create", "next"])
        try tool.sql("CREATE TABLE effect (sequence BIGINT)")
        try await tool.succeed(
            ["enqueue", "work", "--lines"], input: (1...count).map { "\($0)\n" }.joined())
        // What psql knows of an address: the schema is the store's word.
        let plain = tool.url.replacing("&schema=\(tool.schema)", with: "")
        let environment = Tool.environment(tool.url).updating(["ADDRESS": plain])
        let work = ["work", "work", "--concurrency", "4"]
        let command = ["--", "sh", "-c", script(tool)]
        for _ in 0..<6 {
            let effects = try tool.sql("SELECT FROM effect")
            let wanted = min(count, effects + Int(random.next() % 6) + 1)
            let killsBackends = random.next() % 2 == 0
            _ = try await Subprocess.run(
                .path(Tool.path), arguments: Arguments(work + ["--lease", "2s"] + command), environment: environment,
                input: .none,
                output: .sequence, error: .discarded
            ) { execution in
                try await eventually { try tool.sql("SELECT FROM effect") >= wanted }
                if killsBackends {
                    try tool.sql(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE application_name = 'application' AND query LIKE '%\(tool.schema).%'
                        """)
                }
                try execution.send(signal: .kill)
            }
        }
        // What is left: also commands that have outlived their worker end by themselves.
        let end = try await Subprocess.run(
            .path(Tool.path), arguments: Arguments(work + ["--drain"] + command), environment: environment,
            input: .none, output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        #expect(end.terminationStatus == .exited(0), "\(end.standardError)")
        try await eventually { try tool.sql("SELECT FROM penstock_depth WHERE leased > 0") == 0 }
        #expect(try tool.sql("SELECT FROM effect") == count)
        #expect(try tool.sql("SELECT DISTINCT sequence FROM effect") == count)
        #expect(try tool.sql("SELECT FROM penstock_log WHERE sequence > \(count)") == count)
        #expect(try tool.sql("SELECT DISTINCT payload FROM penstock_log WHERE sequence > \(count)") == count)
        #expect(try tool.sql("SELECT FROM penstock_outcome WHERE state = 'done'") == count)
        #expect(!end.standardError.contains("lease was lost"), "\(end.standardError)")
        let findings = try await PostgresStore.inspectHealth(url: tool.url).findings
        let found = findings.filter { $0.queue != nil || $0.kind == .misplaced }
        #expect(found.isEmpty, "\(found.map(\.message))")
    }
}
