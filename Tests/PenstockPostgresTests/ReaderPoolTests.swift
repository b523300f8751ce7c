import PenstockCore
import PenstockSQL
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockPostgres

/// The connections with which a store reads: beside others that write, and at a server that takes connections and says nothing.
@Suite(.timeLimit(.minutes(5))) struct ReaderPoolTests {
    private let time = ManualTime()

    @Test func readingsThatWaitForOthersHaveNoThreadAndAnEndOfTheirOwn() async throws {
        let silent = try Relay(to: "/nowhere")
        silent.standStill(true)
        let sessions = Sessions(
            try ServerAddress("postgres://penstock@127.0.0.1:\(silent.port)/postgres?connect_timeout=100"),
            busyMax: .seconds(1))
        let pool = ReaderPool(sessions, time: time)
        let readings = (0..<50).map { _ in Task { await errorCode { try await pool.read { _ in } } } }
        try await eventually { pool.waitingCount == 46 }
        let cancelled = Task { try await pool.read { _ in } }
        try await time.waitForSleepers(count: 47)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        time.advance(by: .seconds(1))
        try await eventually { pool.waitingCount == 0 }
        // It hangs up on those that it has taken.
        silent.standStill(false)
        var codes: [PenstockError.Code?] = []
        for reading in readings { codes.append(await reading.value) }
        #expect(codes.count { $0 == .busy } == 46)
        #expect(codes.count { $0 == .unreachable } == 4)
    }

    private static let countMessages = Query("SELECT count(*) FROM penstock_log")

    /// A page of messages and the counts beside it are of one moment.
    @Test(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
    func aReadingIsOneSnapshot() async throws {
        let schema = try await ClosedSchema()
        let address = schema.address
        let sessions = Sessions(address, busyMax: .seconds(60))
        let pool = ReaderPool(sessions)
        let counts = Mutex<[Int64?]>([])
        let count: @Sendable (Connection) throws -> Void = { connection in
            let found = try connection.integer(Self.countMessages)
            counts.withLock { $0.append(found) }
        }
        try await pool.read { connection in
            try count(connection)
            try Sessions.connect(to: address, busyMax: .seconds(60)).run(
                "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
            try count(connection)
        }
        try await pool.read(count)
        pool.close()
        let found = counts.withLock { $0 }
        #expect(found == [0, 0, 1])
    }

    private static let selectProcess = Query("SELECT CAST(pg_backend_pid() AS BIGINT)")

    /// What it says is of yesterday: another connection has found a server that was promoted, or other tables.
    @Test(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
    func aServerThatWasLeftIsReadNoMore() async throws {
        let address = try await ClosedSchema().address
        let sessions = Sessions(address, busyMax: .seconds(60))
        let pool = ReaderPool(sessions)
        let processes = Mutex<[Int64?]>([])
        let read: @Sendable (Connection) throws -> Void = { connection in
            let process = try connection.integer(Self.selectProcess)
            processes.withLock { $0.append(process) }
        }
        try await pool.read(read)
        try await pool.read(read)
        address.known.note(table: 1)
        try await pool.read(read)
        pool.close()
        let found = processes.withLock { $0 }
        #expect(found[0] == found[1] && found[1] != found[2])
    }

    /// One that is frozen keeps its connections, and says nothing on them.
    @Test(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
    func aServerThatFallsSilentIsNotWaitedForAsByCalls() async throws {
        let relay = try Relay(to: PostgresServer.shared.get().socketPath)
        let address = try ServerAddress(relay.url(try await ClosedSchema().url))
        let pool = ReaderPool(Sessions(address, busyMax: .seconds(60)))
        try await pool.read { _ in }
        relay.standStill(true)
        let start = ContinuousClock.now
        #expect(await errorCode { try await pool.read { _ in } } == .unreachable)
        // Calls wait for a minute.
        #expect(ContinuousClock.now - start < .seconds(40))
        pool.close()
    }
}
