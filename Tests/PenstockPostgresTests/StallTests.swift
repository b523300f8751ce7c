import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Leases that end while nobody gets through to the server: their workers live, and are about to ask for more time.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct StallTests {
    @Test func aLongWaitCountsAlone() {
        let stalls = Stalls()
        stalls.note(since: .now)
        #expect(stalls.total == .zero)
        stalls.note(since: .now - .seconds(3))
        #expect(stalls.total >= .seconds(3))
    }

    @Test func messagesOfTheLivingAreNotTakenAfterAStall() async throws {
        let (time, schema) = (ManualTime(), try await ClosedSchema())
        let jobs = schema.jobs
        let worker = try await PostgresStore.open(url: schema.url, options: .init(time: time))
        let other = try await PostgresStore.open(url: schema.url, options: .init(time: time))
        func put(_ store: PostgresStore) async throws {
            _ = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        }
        try await put(worker)
        let claim = try await worker.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(10)))
        #expect(claim.messages.count == 1)
        #expect(try await other.reclaim() == Reclaimed())

        // Another program has the right to write, for as long as counts.
        try schema.server.run("BEGIN; SELECT penstock_write_lock()")
        let waiting = Task {
            try await other.enqueue([NewMessage(payload: [2])], to: jobs, durability: .processCrash).count
        }
        let watch = try Sessions.connect(to: schema.address, busyMax: .seconds(60))
        try await eventually { try watch.hasWaiter }
        let start = ContinuousClock.now
        try await eventually { ContinuousClock.now - start > .milliseconds(2100) }
        time.advance(by: .seconds(10))
        try schema.server.run("COMMIT")
        #expect(try await waiting.value == 1)

        #expect(try await other.reclaim() == Reclaimed())
        // One that has not asked in this time does not live, whatever its lock says.
        time.advance(by: .seconds(6))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await other.close()
        try await worker.close()
    }
}
