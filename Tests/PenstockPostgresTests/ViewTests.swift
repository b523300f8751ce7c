import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// What stands in the views of a database, for people and other programs.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct ViewTests {
    /// A cursor that holds settings reads nothing, and would be one that is behind for ever; "amazon-sqs" is another one's name.
    @Test func cursorsAreReadersOfTheirLog() async throws {
        let shared = try await SharedSchema()
        let store = shared.store
        for name in [CursorName.settingsPrefix + "1", "amazon-sqs", "mailer"] {
            _ = try await store.moveCursor(
                CursorName(stored: name), of: shared.jobs, .place(after: SequenceNumber(0), note: "{}"))
        }
        _ = try await store.enqueue([NewMessage(payload: [1])], to: shared.jobs, durability: .processCrash)
        let found = try shared.server.run(
            "SELECT string_agg(concat_ws('|', cursor, ahead, note), ' ' ORDER BY cursor) FROM \(shared.schema).penstock_cursors"
        )
        #expect(found.text(0, 0) == "amazon-sqs|1|{} mailer|1|{}")
        try await store.close()
    }
}
