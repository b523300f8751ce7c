import Foundation
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What `penstock doctor` finds of a server: each finding that can be provoked at one is.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct ServerHealthTests {
    private let url: String
    private let schema: String
    private let server: ServerConnection
    private let store: PostgresStore
    private let jobs: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (url, schema, server, store, jobs) = (shared.url, shared.schema, shared.server, shared.store, shared.jobs)
        try server.run("SET search_path = \(schema); SET client_min_messages = warning")
    }

    /// The tests' server runs without fsync, and other suites harm what all of its schemas share.
    private static let others: Set<HealthFinding.Kind> = [.unsafeServer, .vacuumHeld, .walHeld, .fewConnections]

    private func findings(_ bounds: HealthBounds = HealthBounds()) async throws -> [HealthFinding] {
        try await PostgresStore.inspectHealth(url: url, bounds: bounds).findings
    }

    /// Expects a finding of that kind that says `words`.
    private func expect(
        _ kind: HealthFinding.Kind, _ severity: HealthFinding.Severity, _ words: String,
        _ bounds: HealthBounds = HealthBounds(), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let findings = try await findings(bounds)
        #expect(
            findings.contains { $0.kind == kind && $0.severity == severity && $0.message.contains(words) },
            "\(findings.map(\.message))", sourceLocation: sourceLocation)
    }

    /// PostgreSQL makes small letters of names that stand without quotes.
    @Test func aSchemaWithCapitalsIsWell() async throws {
        let url = try PostgresServer.shared.get().url(schema: "\(PostgresServer.newName())_Shop")
        let store = try await PostgresStore.open(url: url)
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        let found = try await PostgresStore.inspectHealth(url: url).findings.filter { !Self.others.contains($0.kind) }
        #expect(!found.contains { $0.severity == .error }, "\(found.map(\.message))")
    }

    @Test func aStoreThatIsWorkedIsWell() async throws {
        let fifo = try QueueName("fifo")
        try await store.configure(fifo, .create(QueuePolicy(groups: .fifo()), ifAbsent: true))
        for queue in [jobs, fifo] {
            for number in 0..<20 {
                var message = NewMessage(payload: [UInt8(number)], group: queue == fifo ? "g\(number % 3)" : nil)
                if number % 2 == 0 {
                    message.uniqueKey = UniqueKey("k\(number)", scope: number % 4 == 0 ? .whileWaiting : .untilEnded)
                }
                if number % 3 == 0 { message.expiry = .after(.seconds(3600)) }
                if number % 5 == 0 { message.due = .after(.seconds(600)) }
                _ = try await store.enqueue([message], to: queue, durability: .processCrash)
            }
            let claimed = try await store.claim(ClaimRequest(queue: queue, limit: 5, lease: .seconds(30))).messages
            _ = try await store.settle([
                Settlement(claimed[0].lease, .done), Settlement(claimed[1].lease, .retry(error: "x")),
            ])
            // Its key is free before anybody carries the verdict out.
            try server.run("SELECT penstock_done(\(claimed[2].lease.sequence), \(claimed[2].lease.token.rawValue))")
        }
        let report = try await PostgresStore.inspectHealth(url: url)
        let found = report.findings.filter { !Self.others.contains($0.kind) }
        #expect(found.isEmpty, "\(found.map(\.message))")
        #expect(report.unchecked.isEmpty)
        #expect(report.server?.version.isEmpty == false)
        #expect(report.server?.connectionsMax ?? 0 > 100)
        try await store.close()
    }

    /// A look at all rows takes longer than any call may, where there are many: the doctor has a time of its own.
    @Test func rowsAreLookedThroughForAsLongAsTheBoundsSay() async throws {
        var bounds = HealthBounds()
        bounds.rowsMax = .zero
        let error = await #expect(throws: PenstockError.self) { try await findings(bounds) }
        #expect(error?.code == .unreachable)
        try await store.close()
    }

    /// The planner's settings are its own as the doctor looks: it may read whole tables, and each once.
    @Test func noMessageThatExpiresIsSoughtAmongAllThatAreReady() async throws {
        let messages = (1...5000).map { _ in NewMessage(payload: [], expiry: .after(.seconds(3600))) }
        _ = try await store.enqueue(messages, to: jobs, durability: .processCrash)
        try server.run("ANALYZE penstock_expiry, penstock_log, penstock_ready")
        let look = Dialect.statement("SELECT sequence FROM penstock_expiry AS expiry WHERE \(ExpiryInspection.isStray)")
        let plan = try server.run("EXPLAIN \(look.sql)")
        let steps = (0..<plan.rowCount).map { plan.text($0, 0) }
        #expect(!steps.contains { $0.contains("Join Filter: (SubPlan") }, "\(steps.joined(separator: "\n"))")
        let found = try await findings().filter { !Self.others.contains($0.kind) && $0.severity == .error }
        #expect(found.isEmpty, "\(found.map(\.message))")
        try await store.close()
    }

    @Test func settingsThatLoseDataAreNamed() async throws {
        try await expect(.unsafeServer, .error, "fsync = off")
        try await store.close()
    }

    @Test func aTableThatNobodyVacuumsIsNamed() async throws {
        try server.run("ALTER TABLE penstock_ready SET (autovacuum_enabled = false)")
        try await expect(.noVacuum, .error, "Nobody vacuums penstock_ready")
        try await store.close()
    }

    @Test func deadRowsAreCounted() async throws {
        try server.run(
            """
            ALTER TABLE penstock_progress SET (autovacuum_enabled = false);
            INSERT INTO penstock_progress SELECT number, NULL, '', 0 FROM generate_series(1, 500) AS number;
            DELETE FROM penstock_progress
            """)
        var bounds = HealthBounds()
        bounds.deadRows = 100
        // The server counts within a second or so.
        try await eventually {
            try server.run(
                "SELECT FROM pg_stat_user_tables WHERE relid = 'penstock_progress'::regclass AND n_dead_tup >= 500"
            ).rowCount > 0
        }
        try await expect(
            .bloated, .warning, "penstock_progress has 500 dead rows beside 0 living ones and was vacuumed never",
            bounds)
        bounds.deadRows = 1000
        bounds.tableBytes = 10_000
        try await expect(.bloated, .note, "penstock_progress has", bounds)
        try await store.close()
    }

    @Test func anOldTransactionIsNamed() async throws {
        try server.run(
            "SET application_name = 'forgotten'; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM penstock_log")
        var bounds = HealthBounds()
        bounds.vacuumHeld = .zero
        try await expect(.vacuumHeld, .warning, "('forgotten', idle in transaction) has a transaction open", bounds)
        try server.run("ROLLBACK")
        try await store.close()
    }

    @Test func aSlotThatNobodyUsesIsNamed() async throws {
        try server.run("SELECT pg_create_physical_replication_slot('slot_\(schema)', true)")
        defer { _ = try? server.run("SELECT pg_drop_replication_slot('slot_\(schema)')") }
        try server.run("SELECT pg_logical_emit_message(false, 'x', repeat('y', 10000))")
        var bounds = HealthBounds()
        bounds.logBytesHeld = 1000
        try await expect(
            .walHeld, .warning, "The replication slot 'slot_\(schema)', which nobody uses, has the server keep", bounds)
        try await store.close()
    }

    @Test func whoSitsOnTheRightToWriteIsNamed() async throws {
        try server.run("SET application_name = 'sitter'; BEGIN; SELECT penstock_write_lock()")
        var bounds = HealthBounds()
        bounds.writerHeld = .zero
        try await expect(.writerHeld, .error, "('sitter') has the right to write", bounds)
        try server.run("ROLLBACK")
        try await store.close()
    }

    @Test func clocksAndConnectionsAreCompared() async throws {
        var bounds = HealthBounds()
        bounds.clockOff = .seconds(-1)
        bounds.connectionsLeft = 100
        try await expect(.wrongClock, .warning, "The server's clock is 0 s", bounds)
        try await expect(
            .fewConnections, .warning,
            "connections are taken, and a process of Penstock's takes up to seven, or eleven with transactions", bounds)
        try await store.close()
    }

    @Test func aRoleWithoutRightsIsNamed() async throws {
        let role = "reader_\(schema)"
        try server.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role)
            """)
        defer { _ = try? server.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        let report = try await PostgresStore.inspectHealth(url: url.replacing("penstock@", with: "\(role)@"))
        let found = report.findings.filter { !Self.others.contains($0.kind) }
        #expect(found.map(\.kind) == [.missingRights, .unseenSessions], "\(found.map(\.message))")
        #expect(found.first?.message.contains("it lacks DELETE, INSERT, UPDATE") == true)
        try await store.close()
    }

    /// As after a move by logical replication. What the finding says to run is what helps.
    @Test func aCounterThatStayedBehindIsNamed() async throws {
        for number in 2...5 {
            try await store.configure(QueueName("q\(number)"), .create(QueuePolicy(), ifAbsent: true))
        }
        try server.run("ALTER TABLE penstock_queue ALTER COLUMN id RESTART")
        let behind = try await findings().filter { $0.kind == .counterBehind }
        #expect(behind.map(\.severity) == [.error])
        let message = try #require(behind.first).message
        #expect(message.contains("The counter of penstock_queue has given 0, and the table has a row 5"))
        let other = try QueueName("other")
        let refused = await #expect(throws: PenstockError.self) {
            try await store.configure(other, .create(QueuePolicy(), ifAbsent: true))
        }
        #expect(refused?.code == .corrupt)
        try server.run(String(message.split(separator: "`")[1]))
        #expect(try await !findings().contains { $0.kind == .counterBehind })
        try await store.configure(other, .create(QueuePolicy(), ifAbsent: true))
        try await store.close()
    }

    /// Where an owner's default privileges take the right from everybody to call what it makes.
    @Test func aRoleThatMayNotCallFunctionsIsNamed() async throws {
        let role = "worker_\(schema)"
        try server.run(
            """
            REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA \(schema) FROM PUBLIC;
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role)
            """)
        defer { _ = try? server.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        let address = url.replacing("penstock@", with: "\(role)@")
        let rights = try await PostgresStore.inspectHealth(url: address).findings.filter { $0.kind == .missingRights }
        #expect(rights.map(\.severity) == [.error])
        #expect(rights.first?.message.contains("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA") == true)
        // With what the guide grants it works.
        try server.run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \(schema) TO \(role)")
        let found = try await PostgresStore.inspectHealth(url: address).findings
        #expect(!found.contains { [.missingRights, .unreadable].contains($0.kind) }, "\(found.map(\.message))")
        let worker = try await PostgresStore.open(url: address)
        _ = try await worker.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        #expect(try await worker.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))).messages.count == 1)
        try await worker.close()
        try await store.close()
    }

    @Test(arguments: [
        (
            "UPDATE penstock_depth SET ready = 7", HealthFinding.Kind.wrongDepths,
            "is said to have 7 messages ready, and has 1"
        ),
        ("DELETE FROM penstock_ready", .misplaced, "1 message has no place in the line, or several: 1."),
        ("DELETE FROM penstock_log", .misplaced, "1 message is in line and not in the log: 1."),
        ("DELETE FROM penstock_unique", .wrongKeys, "1 message waits or runs and does not hold its unique key: 1."),
        ("DELETE FROM penstock_expiry", .wrongExpiry, "1 message waits and would not expire when it has to: 1."),
        (
            "UPDATE penstock_state SET last_sequence = 0", .wrongSequence,
            "The last sequence number given is said to be 0"
        ),
        (
            "INSERT INTO penstock_permit (queue_id, group_key, sequence) SELECT id, 'g', 9 FROM penstock_queue",
            .wrongPermits,
            "has a permit of a group that it should have let go"
        ),
        (
            "INSERT INTO penstock_task (sequence, workflow_id, name) VALUES (1, 9, 't')", .misplaced,
            "1 message is a task, and the log or the workflow is not there"
        ),
        (
            "INSERT INTO penstock_cursor (queue_id, name, sequence, moved_at) VALUES (99, 'c', 0, 0)", .strayCursor,
            "belongs to a queue that does not exist."
        ),
        ("UPDATE penstock_queue SET deleting = 1", .deletionUnfinished, "has begun and is not finished"),
        (
            """
            INSERT INTO penstock_arrival VALUES ('m', 's', 'old.db', 0, 1, 9, 0, 0, 5, 0, NULL);
            INSERT INTO penstock_arriving SELECT id, 'm', 1 FROM penstock_queue
            """, .copyUnfinished,
            "1 queue of a copy from old.db takes and gives nothing before all of it is there; if no program is at it"
        ),
    ])
    func rowsThatContradictEachOtherAreNamed(_ harm: String, _ kind: HealthFinding.Kind, _ words: String) async throws {
        _ = try await store.enqueue(
            [NewMessage(payload: [1], uniqueKey: UniqueKey("k"), expiry: .after(.seconds(3600)))], to: jobs,
            durability: .processCrash)
        try server.run("SET session_replication_role = replica; \(harm)")
        let findings = try await findings()
        #expect(
            findings.contains { $0.kind == kind && $0.message.contains(words) && !$0.message.contains("--repair") },
            "\(findings.map(\.message))")
        try await store.close()
    }

    @Test func anEmptySchemaAndAPartThatIsGoneAreSaid() async throws {
        let empty = try PostgresServer.newURL()
        let report = try await PostgresStore.inspectHealth(url: empty)
        #expect(report.schemaVersion == 0)
        #expect(
            report.findings.contains { $0.kind == .olderSchema && $0.message.contains("none of Penstock's tables") })
        try server.run("DROP TABLE penstock_cursor CASCADE")
        try await expect(.unreadable, .error, "What the database says of cursors cannot be read")
        try await store.close()
    }
}
