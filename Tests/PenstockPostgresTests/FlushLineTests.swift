import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What a flush confirms, and of which transactions it asks the server first whether it has them.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct FlushLineTests {
    private let schema: ClosedSchema
    private let flushes: FlushLine
    private let life: ServerLife
    private let writer: PostgresConnection

    init() async throws {
        schema = try await ClosedSchema()
        life = try ServerLife(schema.server)
        writer = PostgresConnection(schema.server)
        let sessions = Sessions(schema.address, busyMax: .seconds(60))
        flushes = FlushLine(sessions, slots: nil)
    }

    /// Has a transaction flushed that a writer has committed.
    ///
    /// - Parameter isThere: whether the server has it, and not only the one with that life.
    private func flush(
        _ number: Int64, isThere: Bool, life: ServerLife, begunAt: ContinuousClock.Instant
    ) async throws {
        let mark = CommitMark(writer: 7, number: number)
        if isThere { try mark.write(writer) }
        let call = try #require(PostedCall([NewMessage(payload: [1])], to: schema.jobs, durability: .powerLoss))
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let job = Job(
                durability: .powerLoss, check: nil, deadline: .now + .seconds(60), posted: (call, { _ in }),
                body: { _ in }, continuation: continuation)
            job.accept([])
            flushes.add(FlushLine.Entry(jobs: [job], mark: mark, life: life, begunAt: begunAt))
        }
    }

    private func isUnknown(_ body: () async throws -> Void) async -> Bool {
        do { try await body() } catch { return (error as? PenstockError)?.code == .outcomeUnknown }
        return false
    }

    @Test func whatTheServerHasIsConfirmed() async throws {
        let start = ContinuousClock.now
        try await flush(1, isThere: true, life: life, begunAt: start)
        // The connection is there now, so the server is not asked: it would not know this one.
        try await flush(2, isThere: false, life: life, begunAt: .now)
        let other = ServerLife(startedAt: 1)
        try await flush(3, isThere: true, life: other, begunAt: .now)
        try await SystemThread.run { [flushes] in flushes.close() }
    }

    /// A server whose processes were killed begins anew in the same life, without what it had not flushed.
    @Test func whatACrashHasTakenIsNotConfirmed() async throws {
        let start = ContinuousClock.now
        try await flush(1, isThere: true, life: life, begunAt: start)
        #expect(await isUnknown { try await flush(2, isThere: false, life: life, begunAt: start) })
        try await SystemThread.run { [flushes] in flushes.close() }
    }

    /// A server that was promoted has the marks of the one before.
    @Test func whatAnotherServerHasIsNotConfirmed() async throws {
        let other = ServerLife(startedAt: 1)
        try await flush(1, isThere: true, life: other, begunAt: .now)
        #expect(await isUnknown { try await flush(2, isThere: false, life: other, begunAt: .now) })
        try await SystemThread.run { [flushes] in flushes.close() }
    }

    /// The connection was there before, in that life: to a server that was left for another one meanwhile.
    @Test func whatAServerThatWasLeftHasIsNotConfirmed() async throws {
        try await flush(1, isThere: true, life: life, begunAt: .now)
        schema.address.known.note(table: 1)
        #expect(await isUnknown { try await flush(2, isThere: false, life: life, begunAt: .now) })
        try await flush(3, isThere: true, life: life, begunAt: .now)
        try await SystemThread.run { [flushes] in flushes.close() }
    }

    /// The writer's thread may be the one that waits.
    @Test func aServerThatFallsSilentAsAConnectionIsMadeReadyIsNotWaitedForAsByCalls() async throws {
        let relay = try Relay(to: PostgresServer.shared.get().socketPath)
        let sessions = Sessions(try ServerAddress(relay.url(schema.url)), busyMax: .seconds(60))
        let waited = try await SystemThread.run { () -> Duration? in
            let server = try sessions.connect(waitsForStandbys: true)
            relay.standStill(true)
            let start = ContinuousClock.now
            do { _ = try FlushLine.prepare(server) } catch is ServerError { return ContinuousClock.now - start }
            return nil
        }
        // Calls wait for a minute.
        let time = try #require(waited)
        #expect(time < .seconds(40))
    }
}
