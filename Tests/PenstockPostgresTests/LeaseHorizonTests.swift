import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// From which claim on a look goes through the leases, also when the clock does not go on as it did.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LeaseHorizonTests {
    private let time = ManualTime()
    private let schema: ClosedSchema
    private let connection: PostgresConnection
    private let horizon: LeaseHorizon

    init() async throws {
        schema = try await ClosedSchema()
        connection = PostgresConnection(schema.server)
        horizon = LeaseHorizon(by: time)
    }

    /// Leaves one lease in the table.
    private func lease(claimedAt moment: Timestamp) throws {
        try schema.server.run(
            """
            DELETE FROM penstock_lease;
            INSERT INTO penstock_lease (sequence, queue_id, token, worker_id, claimed_at, deadline, priority, attempt, forgiven, marks)
                VALUES (1, 1, 1, 1, \(moment.microseconds), 0, 0, 1, 0, 0)
            """)
    }

    /// Whether a look finds the lease.
    private func isFound() throws -> Bool { try !HeldWork(connection, since: horizon).isEmpty }

    @Test func aLookGoesBackToTheOldestLeaseAndOnceInAMinuteFurther() throws {
        try lease(claimedAt: time.now)
        #expect(try isFound())
        try lease(claimedAt: time.now - .seconds(30))
        #expect(try !isFound())
        time.advance(by: .seconds(59))
        #expect(try !isFound())
        time.advance(by: .seconds(1))
        #expect(try isFound())
        // From there on it is the oldest.
        #expect(try isFound())
    }

    @Test func aClockThatWasSetBackHidesNoLease() throws {
        try lease(claimedAt: time.now)
        #expect(try isFound())
        time.set(wall: time.now - .seconds(10))
        try lease(claimedAt: time.now)
        #expect(try isFound())
        // A second at a time is no other thing.
        for _ in 0..<3 {
            time.set(wall: time.now - .milliseconds(900))
            try lease(claimedAt: time.now)
            #expect(try isFound())
        }
    }

    @Test func aLeaseEndsInTimeThoughTheClockWasSetBack() async throws {
        let store = try await PostgresStore.open(url: schema.url, options: .init(time: time))
        let messages = [NewMessage(payload: [1]), NewMessage(payload: [2])]
        _ = try await store.enqueue(messages, to: schema.jobs, durability: .processCrash)
        _ = try await store.claim(ClaimRequest(queue: schema.jobs, limit: 1, lease: .seconds(3600)))
        #expect(try await store.reclaim() == Reclaimed())
        time.set(wall: time.now - .seconds(30))
        _ = try await store.claim(ClaimRequest(queue: schema.jobs, limit: 1, lease: .seconds(10)))
        time.advance(by: .seconds(10))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
    }
}
