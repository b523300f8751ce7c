import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Verdicts said in SQL whose workers never settle as well: they go while all processes stay connected, a bounded number at a time.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LeftVerdictTests {
    private let shared: SharedSchema
    private var schema: String { shared.schema }

    init() async throws {
        shared = try await SharedSchema()
        try shared.server.run(
            """
            INSERT INTO \(schema).penstock_verdict (sequence, token, verdict, said_at, state)
            SELECT -n, n, 'done', \(schema).penstock_now() - 2 * 86400000000::BIGINT, 'done' FROM generate_series(1, 2000) AS n
            """)
    }

    private func rows(_ which: String) throws -> Int32 {
        try shared.server.run(
            "SELECT 1 FROM \(schema).penstock_verdict WHERE said_at \(which) \(schema).penstock_now() - 86400000000"
        )
        .rowCount
    }

    /// Messages whose worker says in SQL that they are done, which the next transaction carries out.
    private func sayDone(_ count: Int) async throws {
        let messages = (1...count).map { NewMessage(payload: [UInt8(truncatingIfNeeded: $0)]) }
        _ = try await shared.store.enqueue(messages, to: shared.jobs, durability: .processCrash)
        let claim = try await shared.store.claim(ClaimRequest(queue: shared.jobs, limit: count, lease: .seconds(60)))
        #expect(claim.messages.count == count)
        try shared.server.run("SELECT \(schema).penstock_done(sequence, token) FROM \(schema).penstock_lease")
        _ = try await shared.store.enqueue([NewMessage(payload: [])], to: shared.jobs, durability: .processCrash)
        let next = try await shared.store.claim(ClaimRequest(queue: shared.jobs, limit: 1, lease: .seconds(60)))
        _ = try await shared.store.settle(next.messages.map { Settlement($0.lease, .done) })
    }

    @Test func verdictsThatAreCarriedOutMakeRoom() async throws {
        try await sayDone(500)
        // Three keys for each.
        #expect(try rows("<") == 500)
        #expect(try rows(">=") == 500)
        // Those of messages that have come later are found as well.
        try shared.server.run(
            "UPDATE \(schema).penstock_verdict SET sequence = 1000000 - sequence WHERE sequence BETWEEN -50 AND -1")
        for _ in 1...3 { try await sayDone(500) }
        #expect(try rows("<") == 0)
        #expect(try rows(">=") == 2000)
        try await shared.store.close()
    }

    /// While nobody was there to carry it out, such as over a weekend.
    @Test func aVerdictThatIsOpenForDaysIsCarriedOutAndNotRemoved() async throws {
        try shared.server.run("DELETE FROM \(schema).penstock_verdict")
        _ = try await shared.store.enqueue([NewMessage(payload: [1])], to: shared.jobs, durability: .processCrash)
        let claim = try await shared.store.claim(ClaimRequest(queue: shared.jobs, limit: 1, lease: .seconds(60)))
        #expect(claim.messages.count == 1)
        try shared.server.run(
            """
            SELECT \(schema).penstock_done(sequence, token) FROM \(schema).penstock_lease;
            UPDATE \(schema).penstock_verdict SET said_at = said_at - 2 * 86400000000::BIGINT
            """)
        let store = try await PostgresStore.open(url: shared.url)
        _ = try await store.enqueue([NewMessage(payload: [2])], to: shared.jobs, durability: .processCrash)
        let status = try await store.status(of: shared.jobs).queues[0]
        #expect(status.totals.done == 1 && status.depths.leased == 0)
        try await store.close()
        try await shared.store.close()
    }

    /// With millions of them a process would not get in before its call's time is over.
    @Test func aNewConnectionLooksAtAFew() async throws {
        let store = try await PostgresStore.open(url: shared.url)
        _ = try await store.enqueue([NewMessage(payload: [1])], to: shared.jobs, durability: .processCrash)
        #expect(try Int(rows("<")) == 2000 - LeftVerdicts.keysMax)
        try await store.close()
        try await shared.store.close()
    }
}
