import Foundation
import GRDB
import GRDBSQLite
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// Statements that change many rows of a view, or that no view takes.
@Suite(.timeLimit(.minutes(5))) struct PlainInsertStatementTests {
    private let folder = TemporaryFolder()
    private let path: String

    init() throws {
        path = folder.file("queue.db")
    }

    @Test func manyAtOnceAreAllOrNothing() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(5, .fail))
        let program = try ForeignProgram(path)
        try await program.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', '1'), ('jobs', '2')")
        try await program.run(
            "INSERT INTO penstock_messages (queue, payload, priority) SELECT queue, payload || 'b', 1 FROM penstock_messages"
        )
        #expect(try await store.texts() == ["1", "2", "1b", "2b"])
        await #expect(throws: DatabaseError.self) {
            try await program.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', '5'), ('jobs', '6')")
        }
        #expect(try await store.texts() == ["1", "2", "1b", "2b"])
        #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [3, 4, 1, 2])
        try await store.close()
    }

    /// A full queue drops a message whose group has many others. The next one of them is not looked for among all. Judged by the
    /// steps of SQLite's machine, which are the same on every machine.
    @Test(arguments: [GroupPolicy.limit(1), .fifo()]) func aDropCostsTheSameInALargeGroup(_ groups: GroupPolicy)
        async throws
    {
        var steps: [Int] = []
        for count in [10, 5000] {
            let path = folder.file("\(count).db")
            let policy = QueuePolicy(capacity: Capacity(count, whenFull: .dropOldest), groups: groups)
            let store = try await SQLiteStore.openWithJobs(path, policy)
            let messages = (1...count).map { NewMessage.text("\($0)", group: "a") }
            _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
            let database = try DatabaseQueue(path: path)
            steps += try await database.write { database in
                let insert = try database.makeStatement(
                    sql: "INSERT INTO penstock_messages (queue, payload, group_key) VALUES ('jobs', 'x', 'a')")
                try insert.execute()
                return [Int(sqlite3_stmt_status(insert.sqliteStatement, SQLITE_STMTSTATUS_VM_STEP, 0))]
            }
            try database.close()
            #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [2])
            try await store.close()
        }
        #expect(steps[1] < steps[0] * 2, "\(steps)")
    }

    /// The same beside other queues that are shared: what a drop changes is found by indexes alone.
    @Test func aDropCostsTheSameBesideManyQueues() async throws {
        var steps: [Int] = []
        for count in [1, 2000] {
            let path = folder.file("beside-\(count).db")
            let policy = QueuePolicy(capacity: Capacity(3, whenFull: .dropOldest), isFair: true)
            let store = try await SQLiteStore.openWithJobs(path, policy)
            _ = try await store.enqueue(
                (1...3).map { NewMessage.text("\($0)", group: "\($0)") }, to: .jobs, durability: .processCrash)
            let database = try DatabaseQueue(path: path)
            steps += try await database.write { database in
                for other in 1...count {
                    try database.execute(
                        sql: "INSERT INTO penstock_queue (name, fair) VALUES (?1, 1)", arguments: ["other \(other)"])
                    try database.execute(
                        sql: """
                            INSERT INTO penstock_share (queue_id, priority, group_key, next_turn, again_turn)
                                VALUES (last_insert_rowid(), 0, 'a', 5, 0)
                            """)
                }
                let insert = try database.makeStatement(
                    sql: "INSERT INTO penstock_messages (queue, payload, group_key) VALUES ('jobs', 'x', 'a')")
                try insert.execute()
                return [Int(sqlite3_stmt_status(insert.sqliteStatement, SQLITE_STMTSTATUS_VM_STEP, 0))]
            }
            try database.close()
            #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [2, 3, 4])
            try await store.close()
        }
        #expect(steps[1] < steps[0] * 2, "\(steps)")
    }

    @Test func viewsCanBeChangedInNoOtherWay() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let program = try ForeignProgram(path)
        for sql in [
            "DELETE FROM penstock_messages", "UPDATE penstock_messages SET payload = 'other'",
            "INSERT INTO penstock_queues (queue) VALUES ('x')", "DELETE FROM penstock_dead_letters",
        ] {
            await #expect(throws: DatabaseError.self, "\(sql)") { try await program.run(sql) }
        }
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }
}
