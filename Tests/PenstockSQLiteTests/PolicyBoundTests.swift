import GRDB
import PenstockConformance
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// What plain SQL cannot make of a queue's policy.
@Suite(.timeLimit(.minutes(5))) struct PolicyBoundTests {
    private let folder = TemporaryFolder()

    @Test func thePolicyOfAQueueStaysWithinItsBounds() async throws {
        let path = folder.file("queue.db")
        try await SQLiteStore.openWithJobs(path).close()
        let program = try ForeignProgram(path)
        try await program.run("UPDATE penstock_queue SET \(PolicyColumns.first)")
        func expectRefusal(_ sql: String) async {
            let error = await #expect(throws: DatabaseError.self, "\(sql)") { try await program.run(sql) }
            #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_CHECK, "\(sql)")
        }
        for (column, wrong, right) in PolicyColumns.bounds {
            for value in wrong { await expectRefusal("UPDATE penstock_queue SET \(column) = \(value)") }
            for value in right {
                try await program.run("BEGIN; UPDATE penstock_queue SET \(column) = \(value); ROLLBACK")
            }
        }
        for row in PolicyColumns.otherWrong { await expectRefusal("INSERT INTO \(row)") }
        try program.close()
    }
}
