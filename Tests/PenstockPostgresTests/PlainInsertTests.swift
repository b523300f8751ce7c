import PenstockConformance
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Messages that are put in line by SQL alone, as by `psql` or in an application's transaction.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(1)))
struct PlainInsertTests {
    private let url: String
    private let schema: String
    private let server: ServerConnection
    private let store: PostgresStore
    private let jobs: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (url, schema, server, store, jobs) = (shared.url, shared.schema, shared.server, shared.store, shared.jobs)
    }

    private func insert(_ payload: String, into queue: String = "jobs") throws {
        try server.run("INSERT INTO \(schema).penstock_messages (queue, payload) VALUES ('\(queue)', '\(payload)')")
    }

    @Test func anInsertIsAnEnqueue() async throws {
        try insert("by hand")
        let receipt = try await store.enqueue(
            [NewMessage(payload: Array("second".utf8))], to: jobs, durability: .powerLoss)
        #expect(receipt[0].sequence == SequenceNumber(2))
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["by hand", "second"])
        let status = try await store.status(of: jobs)
        #expect(status.queues[0].totals.enqueued == 2)
        try await store.close()
    }

    /// Both are there, or neither.
    @Test func itIsPartOfTheTransaction() async throws {
        try server.run("BEGIN")
        try insert("never")
        try server.run("ROLLBACK")
        try insert("ever")
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["ever"])
        try await store.close()
    }

    @Test func itWakesWhoWaits() async throws {
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        let token = changes.token(for: jobs)
        async let woken: Void = changes.waitForWork(in: QueueName("jobs"), after: token)
        try await changes.waitForWaiters()
        try insert("wake")
        try await woken
        try await store.close()
    }

    @Test func whatCannotBeIsRefusedWithASentence() async throws {
        let error = #expect(throws: ServerError.self) { try insert("a", into: "nowhere") }
        #expect(error?.message == "penstock: there is no queue of that name")
        let isEmpty = try await store.messages(MessageQuery(limit: 1)).records.isEmpty
        #expect(isEmpty)
        // The connection goes on.
        try insert("after")
        try await store.close()
    }

    @Test(arguments: ["2031-02-29", "2030-02-30T12:00:00Z", "2030-04-31", "2030-13-01"])
    func aDateThatIsInNoCalendarIsRefused(date: String) async throws {
        for column in ["due_at", "expires_at"] {
            let error = #expect(throws: ServerError.self) {
                try server.run(
                    "INSERT INTO \(schema).penstock_messages (queue, payload, \(column)) VALUES ('jobs', 'x', '\(date)')"
                )
            }
            #expect(error?.message == "penstock: \(column) must be ISO 8601 text or integer microseconds")
        }
        try server.run(
            "INSERT INTO \(schema).penstock_messages (queue, payload, due_at) VALUES ('jobs', 'x', '2028-02-29')")
        try await store.close()
    }

    @Test func whatIsDueIsNotLostWhenAPayloadChanges() async throws {
        try server.run(
            "INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '* * * * *', 'x')"
        )
        #expect(try await store.fire() != nil)
        try server.run("UPDATE \(schema).penstock_schedule SET next_due = \(schema).penstock_now() - 1")
        try server.run("UPDATE \(schema).penstock_schedules SET payload = 'other'")
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["other"])
        try await store.close()
    }

    @Test func whatWasWorkedIsShown() async throws {
        try insert("a")
        _ = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
        let shown = try server.run("SELECT queue, state, payload FROM \(schema).penstock_messages")
        let row = (0..<3).map { String(decoding: shown.bytes(0, $0), as: UTF8.self) }
        #expect(row[0] == "jobs")
        #expect(row[1] == "leased")
        try await store.close()
    }
}
