import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// What a plain INSERT says of conflicts replaces, in SQLite, what the statements of its triggers say of theirs. It leaves the same.
@Suite(.timeLimit(.minutes(5))) struct PlainInsertConflictTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private static let verbs = [
        "INSERT", "INSERT OR ABORT", "INSERT OR FAIL", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR ROLLBACK",
        "REPLACE",
    ]
    /// The second message of a group is noted like the first one where the group has a rate, or where each one drops the one before it.
    private static let policies = [
        QueuePolicy(groups: .limit(9), ratePerKey: Rate(2, per: .seconds(3600))),
        QueuePolicy(groups: .fifo(), ratePerKey: Rate(2, per: .seconds(3600)), isFair: true),
        QueuePolicy(capacity: Capacity(1, whenFull: .dropOldest), groups: .limit(1)),
        QueuePolicy(capacity: Capacity(1, whenFull: .dropOldest), groups: .fifo()),
    ]

    @Test(arguments: verbs, policies) func aGroupIsNotedOnce(_ verb: String, _ policy: QueuePolicy) async throws {
        let store = try await SQLiteStore.openWithJobs(path, policy)
        let program = try ForeignProgram(path)
        for number in 1...4 {
            try await program.run(
                "\(verb) INTO penstock_messages (queue, payload, group_key) VALUES ('jobs', '\(number)', 'g')")
        }
        #expect(try await store.texts() == ["1", "2", "3", "4"])
        #expect(try await store.depths().waiting == policy.capacity?.count ?? 4)
        #expect(try await findings() == [])
        #expect(try await store.take().count == 1)
        #expect(try await findings() == [])
        try await store.close()
    }

    /// A task that is dropped while those that wait for it were told of something else up to one of them: all are told anew.
    @Test(arguments: verbs) func theDropOfATaskIsToldToAll(_ verb: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .dropOldest))
        let tasks = try await store.begin([("first", []), ("second", ["first"])])
        let program = try ForeignProgram(path)
        try await program.run("INSERT INTO penstock_cascade VALUES (0, \(tasks[0]), \(tasks[1]))")
        try await program.run("\(verb) INTO penstock_messages (queue, payload) VALUES ('jobs', 'x')")
        #expect(try await program.rows("SELECT * FROM penstock_cascade") == ["0|\(tasks[0])|0"])
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.dropped: 1, .cancelled: 1])
        #expect(try await findings() == [])
        try await store.close()
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path).findings.filter { $0.severity != .note }
    }
}
