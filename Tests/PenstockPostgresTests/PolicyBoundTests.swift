import PenstockConformance
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What plain SQL cannot make of a queue's policy.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct PolicyBoundTests {
    @Test func thePolicyOfAQueueStaysWithinItsBounds() async throws {
        let shared = try await SharedSchema()
        try await shared.store.close()
        let server = shared.server
        try server.run("SET search_path = \(shared.schema)")
        try server.run("UPDATE penstock_queue SET \(PolicyColumns.first)")
        func expectRefusal(_ sql: String) {
            let error = #expect(throws: ServerError.self, "\(sql)") { try server.run(sql) }
            // check_violation
            #expect(error?.state == "23514", "\(sql)")
        }
        for (column, wrong, right) in PolicyColumns.bounds {
            for value in wrong { expectRefusal("UPDATE penstock_queue SET \(column) = \(value)") }
            for value in right {
                try server.run("BEGIN; UPDATE penstock_queue SET \(column) = \(value); ROLLBACK")
            }
        }
        for row in PolicyColumns.otherWrong { expectRefusal("INSERT INTO \(row)") }
    }
}
