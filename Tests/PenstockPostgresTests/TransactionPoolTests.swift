import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// The connections for transactions of the application's own: which of them are used, how they end, and whom they wake.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct TransactionPoolTests {
    private let schema: SharedSchema
    private let address: ServerAddress
    private let bell: ServerBell
    private let pool: TransactionPool

    init() async throws {
        schema = try await SharedSchema()
        address = try ServerAddress(schema.url)
        (pool, bell) = try Self.made(address)
    }

    /// A pool, and a bell that nobody rings but its transactions: it has no connection.
    private static func made(_ address: ServerAddress) throws -> (TransactionPool, ServerBell) {
        let sessions = Sessions(address, busyMax: .seconds(60))
        let bell = try ServerBell(sessions, host: nil, hearsRingsAlone: false) { false }
        bell.stop()
        return (TransactionPool(sessions, bell: bell), bell)
    }

    private func run<Answer: Sendable>(
        in pool: TransactionPool? = nil, timeout: Duration = .seconds(60),
        _ body: @escaping @Sendable (PostgresTransaction) throws -> Answer
    ) async throws -> Answer {
        try await (pool ?? self.pool).run(
            of: schema.store, durability: .processCrash, timeout: timeout, body)
    }

    private func close() async throws {
        await pool.close()
        try await schema.store.close()
    }

    /// The server's process with which a transaction has its connection.
    private func process() async throws -> Int64? {
        try await run { try $0.query("SELECT pg_backend_pid() AS id").first?.integer("id") }
    }

    /// How many connections have a row by which their last transaction is known.
    private func rowCount() throws -> Int32 {
        try schema.server.run("SELECT FROM \(schema.schema).penstock_writer").rowCount
    }

    @Test func whoWaitsForWhatWasEnqueuedIsRung() async throws {
        let mails = try QueueName("mails")
        try await schema.store.configure(mails, .create(QueuePolicy(), ifAbsent: true))
        let names = [schema.jobs, mails]
        #expect(Set(names.map { RingBucket.of($0) }).count == 2)
        let tokens = names.map { bell.wakeups.token(for: $0) }
        try await run { transaction in
            for name in names { _ = try transaction.enqueue([NewMessage(payload: [1])], to: name) }
        }
        let areRung = zip(names, tokens).map { bell.wakeups.isRungForWork(in: $0, after: $1) }
        #expect(areRung == [true, true])
        try await close()
    }

    /// What a verdict that was said in SQL puts back in line is rung for by the transaction that carries it out.
    @Test func whoWaitsForWhatAVerdictPutsBackIsRung() async throws {
        let (store, jobs) = (schema.store, schema.jobs)
        let mails = try QueueName("mails")
        try await store.configure(mails, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(60)))
        let lease = try #require(claim.messages.first).lease
        try schema.server.run("SELECT \(schema.schema).penstock_release(\(lease.sequence), \(lease.token.rawValue))")
        let token = bell.wakeups.token(for: jobs)
        try await run { _ = try $0.enqueue([NewMessage(payload: [2])], to: mails) }
        #expect(bell.wakeups.isRungForWork(in: jobs, after: token))
        try await close()
    }

    /// As when another connection has found a server that was promoted, or tables in the place of these.
    @Test func aConnectionToAServerThatWasLeftIsUsedNoMore() async throws {
        let first = try await process()
        let second = try await process()
        #expect(first == second)
        address.known.note(table: 1)
        let third = try await process()
        #expect(third != first)
        try await close()
    }

    /// It waits for the disk of a server that is left meanwhile for another one, which has the transaction or not.
    @Test(arguments: [true, false]) func aFlushConfirmsWhatTheServerThatCountsHas(isThere: Bool) async throws {
        let role = PostgresServer.newName()
        let server = schema.server
        // What has the role wait as it writes its record of the flush.
        try server.run(
            """
            CREATE ROLE \(role) LOGIN SUPERUSER; CREATE SCHEMA \(role);
            CREATE FUNCTION \(role).pg_logical_emit_message(BOOLEAN, TEXT, TEXT) RETURNS VOID LANGUAGE sql AS
                $$ SELECT pg_advisory_xact_lock('\(schema.schema).penstock_log'::regclass::oid::bigint) $$;
            ALTER ROLE \(role) SET search_path = \(role), pg_catalog;
            SELECT pg_advisory_lock('\(schema.schema).penstock_log'::regclass::oid::bigint)
            """)
        let own = try ServerAddress(schema.url.replacing("//penstock@", with: "//\(role)@"))
        let (pool, _) = try Self.made(own)
        let (store, jobs, ended) = (schema.store, schema.jobs, Tally())
        let call = Task {
            defer { ended.add() }
            return await errorCode {
                _ = try await pool.run(of: store, durability: .powerLoss, timeout: .seconds(60)) {
                    try $0.enqueue([NewMessage(payload: [1])], to: jobs).count
                }
            }
        }
        let waiting = """
            SELECT 1 FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND objid = '\(schema.schema).penstock_log'::regclass::oid
            """
        try await eventually { try ended.count > 0 || server.run(waiting).rowCount > 0 }
        own.known.note(table: 1)
        if !isThere { try server.run("DELETE FROM \(schema.schema).penstock_writer") }
        try server.run("SELECT pg_advisory_unlock('\(schema.schema).penstock_log'::regclass::oid::bigint)")
        let expected: PenstockError.Code? = isThere ? nil : .outcomeUnknown
        #expect(await call.value == expected)
        await pool.close()
        try await close()
    }

    /// One that runs on has the writer lock, perhaps, and nobody to tell.
    @Test func aStatementEndsWithTheTimeOfItsTransaction() async throws {
        // To connect takes its time.
        _ = try await process()
        let error = await #expect(throws: PostgresError.self) {
            try await run(timeout: .seconds(1)) { _ = try $0.query("SELECT pg_sleep_for('5 minutes')") }
        }
        // query_canceled
        #expect(error?.state == "57014")
        try await close()
    }

    @Test func aServerThatIsAwayIsWaitedForUntilTheTimeIsOver() async throws {
        let (nowhere, _) = try Self.made(ServerAddress("postgres://penstock@127.0.0.1:1/postgres"))
        let code = await errorCode { try await run(in: nowhere, timeout: .milliseconds(100)) { _ in } }
        #expect(code == .unreachable)
        try await close()
    }

    /// Letters by which the store gives a connection up are an application's as well.
    @Test(arguments: [
        ("SELECT count(*) FROM pg_class FOR UPDATE", "0A000"), ("EXECUTE nothing", "26000"),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '08001', MESSAGE = 'the other server is away'; END $$", "08001"),
    ])
    func aStatementThatIsRefusedLosesNoConnection(_ statement: String, _ state: String) async throws {
        let before = try await process()
        let error = await #expect(throws: PostgresError.self) {
            try await run { _ = try $0.query(statement) }
        }
        #expect(error?.state == state)
        let after = try await process()
        #expect(after == before)
        try await close()
    }

    @Test(arguments: ["0A000", "08001", "23505"])
    func aRefusalAtTheEndIsNoLostConnection(_ state: String) async throws {
        let (table, jobs, committed, rolledBack) = ("public.\(schema.schema)_person", schema.jobs, Tally(), Tally())
        try schema.server.run(
            """
            CREATE TABLE \(table) (name TEXT);
            CREATE FUNCTION \(table)_refused() RETURNS TRIGGER LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION USING ERRCODE = '\(state)', MESSAGE = 'not today';
            END $$;
            CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON \(table) DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION \(table)_refused()
            """)
        let none = Lease(sequence: SequenceNumber(0), token: LeaseToken(rawValue: 0))
        let before = try await process()
        let error = await #expect(throws: PostgresError.self) {
            try await run { transaction in
                _ = try transaction.enqueue([NewMessage(payload: [1])], to: jobs)
                _ = try transaction.execute("INSERT INTO \(table) VALUES ('Ada')")
                transaction.whenEnded(none, committed: { _ in committed.add() }, rolledBack: { rolledBack.add() })
            }
        }
        #expect(error?.state == state && error?.message == "not today")
        #expect(committed.count == 0 && rolledBack.count == 1)
        let after = try await process()
        #expect(after == before)
        #expect(try await schema.store.status(of: jobs).queues[0].depths.ready == 0)
        try await close()
    }

    /// What the store has prepared is gone with it, and is prepared again.
    @Test func anApplicationMayLetGoOfAllThatWasPrepared() async throws {
        struct Stop: Error {}
        let (jobs, store) = (schema.jobs, schema.store)
        let before = try await process()
        for _ in 1...2 {
            try await run { transaction in
                _ = try transaction.enqueue([NewMessage(payload: [1])], to: jobs)
                _ = try transaction.execute("DEALLOCATE ALL")
                _ = try transaction.enqueue([NewMessage(payload: [2])], to: jobs)
                _ = try transaction.execute("DEALLOCATE ALL")
            }
            await #expect(throws: Stop.self) {
                try await run { transaction in
                    _ = try transaction.enqueue([NewMessage(payload: [3])], to: jobs)
                    _ = try transaction.execute("DEALLOCATE ALL")
                    throw Stop()
                }
            }
        }
        let after = try await process()
        #expect(after == before)
        #expect(try await store.status(of: jobs).queues[0].depths.ready == 4)
        try await close()
    }

    /// What lets go of all that was prepared where the server does not say so.
    private static let letsGo = "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"

    /// Without what was prepared in it each transaction to come would fail.
    @Test(arguments: [true, false]) func aConnectionThatIsOfNoUseIsNotKept(enqueues: Bool) async throws {
        let jobs = schema.jobs
        let before = try await process()
        let rows = try rowCount()
        await #expect(throws: (any Error).self) {
            try await run { transaction in
                _ = try transaction.enqueue([NewMessage(payload: [1])], to: jobs)
                _ = try transaction.execute(Self.letsGo)
                if enqueues { _ = try transaction.enqueue([NewMessage(payload: [2])], to: jobs) }
            }
        }
        let after = try await process()
        #expect(after != before)
        #expect(try rowCount() == rows, "The row of the connection before is gone.")
        try await run { _ = try $0.enqueue([NewMessage(payload: [3])], to: jobs) }
        #expect(try await schema.store.status(of: jobs).queues[0].depths.ready == 1)
        try await close()
    }

    @Test func aConnectionOnWhichACallHasFailedBehindASavepointIsNotKept() async throws {
        let jobs = schema.jobs
        let rows = try rowCount()
        let before = try await run { transaction -> Int64? in
            let process = try transaction.query("SELECT pg_backend_pid() AS id").first?.integer("id")
            _ = try transaction.enqueue([NewMessage(payload: [1])], to: jobs)
            _ = try transaction.execute("SAVEPOINT here")
            _ = try transaction.execute(Self.letsGo)
            #expect(throws: (any Error).self) { _ = try transaction.enqueue([NewMessage(payload: [2])], to: jobs) }
            _ = try transaction.execute("ROLLBACK TO here")
            return process
        }
        #expect(try rowCount() == rows)
        let after = try await process()
        #expect(after != before)
        #expect(try await schema.store.status(of: jobs).queues[0].depths.ready == 1)
        try await close()
    }

    /// A row for each connection that there ever was would stay for a day.
    @Test func aClosedPoolLeavesNoRows() async throws {
        let before = try rowCount()
        _ = try await process()
        #expect(try rowCount() == before + 1)
        await pool.close()
        #expect(try rowCount() == before)
        try await schema.store.close()
    }
}
