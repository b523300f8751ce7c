import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Groups in a file that others write as well: by hand, or wrongly.
@Suite(.timeLimit(.minutes(5))) struct GroupFileTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// A file with a group in order: 1 leased, 2 and 3 blocked; and of another one 4 ready, 5 blocked. Message 6 has no group.
    private func makeFile() async throws -> SQLiteStore {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(groups: .fifo()), ifAbsent: true))
        for _ in 1...3 { try await store.put(.text("a", group: "a")) }
        _ = try await store.take(1)
        for _ in 4...5 { try await store.put(.text("b", group: "b")) }
        try await store.put(.text("free"))
        return store
    }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).findings.filter { $0.severity == .error }
    }

    /// Groups that come once, as where each order is one, would fill the file otherwise.
    @Test func sharesOfAFairQueueAreForgotten() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(isFair: true), ifAbsent: true))
        for number in 1...50 { try await store.put(.text("x", group: "group \(number)")) }
        #expect(try await ForeignProgram(path).rows("SELECT count(*) FROM penstock_share") == ["50"])
        let messages = try await store.take(50)
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        #expect(try await ForeignProgram(path).rows("SELECT count(*) FROM penstock_share") == ["0"])
        try await store.close()
    }

    @Test func aSoundFileIsFoundSound() async throws {
        let store = try await makeFile()
        #expect(try await findings().isEmpty)
        try await store.configure(.jobs, .pauseGroup("b"))
        #expect(try await findings().isEmpty)
        try await store.close()
    }

    @Test(arguments: [
        "DELETE FROM penstock_permit",
        "DELETE FROM penstock_permit WHERE sequence = 4",
        "INSERT INTO penstock_permit VALUES (1, 'a', 2)",
        "INSERT INTO penstock_permit VALUES (1, 'z', 99)",
        "UPDATE penstock_permit SET group_key = 'z' WHERE sequence = 1",
        "UPDATE penstock_blocked SET group_key = 'z' WHERE sequence = 2",
        "UPDATE penstock_log SET group_key = NULL WHERE sequence = 2",
        "UPDATE penstock_log SET group_key = 'a' WHERE sequence = 6",
        "UPDATE penstock_blocked SET marks = 0",
        "UPDATE penstock_lease SET marks = 0",
        "DELETE FROM penstock_ready WHERE sequence = 4",
        "DELETE FROM penstock_lease WHERE sequence = 1",
        "INSERT INTO penstock_ready VALUES (1, 0, 0, 2, 0, 0, 8, NULL)",
        "DELETE FROM penstock_blocked",
        "UPDATE penstock_depth SET blocked = 7",
        // One in line without a permit, and two with one each of a group that has one: all else is right.
        """
        UPDATE penstock_log SET group_key = 'c' WHERE sequence = 6;
        UPDATE penstock_ready SET marks = 8 WHERE sequence = 6
        """,
        """
        DELETE FROM penstock_blocked WHERE sequence = 5;
        INSERT INTO penstock_ready VALUES (1, 0, 0, 5, 0, 0, 8, NULL);
        INSERT INTO penstock_permit VALUES (1, 'b', 5);
        UPDATE penstock_depth SET blocked = blocked - 1, ready = ready + 1
        """,
    ]) func whatIsWrongIsFoundAndRepaired(_ sql: String) async throws {
        try await harness.crash(try await makeFile())
        try await ForeignProgram(path).run(sql)
        #expect(try await !findings().isEmpty)
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await findings().isEmpty)
        let again = try await harness.openStore()
        _ = try await again.reclaim()
        // Every group goes on, one at a time, to its end.
        var rounds = 0
        while case let messages = try await again.take(100), !messages.isEmpty {
            let groups = messages.compactMap(\.group)
            #expect(Set(groups).count == groups.count)
            _ = try await again.settle(messages.map { Settlement($0.lease, .done) })
            rounds += 1
            try #require(rounds < 10)
        }
        let depths = try await again.depths()
        #expect((depths.blocked, depths.ready, depths.leased) == (0, 0, 0))
        #expect(try await again.groups(GroupQuery(queue: .jobs)).isEmpty)
        try await again.close()
        #expect(try await findings().isEmpty)
    }

    /// What somebody changes in the shell is seen to by the next claim.
    @Test func aPolicyThatIsChangedByHandHolds() async throws {
        let store = try await makeFile()
        let program = try ForeignProgram(path)
        try await program.run("UPDATE penstock_queue SET fifo = 0, limit_per_key = 2")
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [2, 4, 5, 6])
        try await program.run(
            "INSERT INTO penstock_group_pause SELECT id, 'a', 0 FROM penstock_queue")
        #expect(try await store.take(100).isEmpty)
        try await program.run("DELETE FROM penstock_group_pause")
        try await program.run("UPDATE penstock_queue SET limit_per_key = NULL")
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [3])
        #expect(try await findings().isEmpty)
        try await store.close()
    }

    /// A worker that waits hears of what somebody has changed in the shell.
    @Test func whoWaitsIsRungForGroupsThatAreToBeSeenTo() async throws {
        let file = harness.folder.file("rung.db")
        let store = try await SQLiteStore.openWithJobs(file, QueuePolicy(groups: .fifo()))
        try await store.configure(.jobs, .pauseGroup("a"))
        try await store.put(.text("a", group: "a"))
        #expect(try await store.take(1).isEmpty)
        let token = store.changes.token(for: .jobs)
        try await ForeignProgram(file).run("DELETE FROM penstock_group_pause")
        try await store.changes.wait(for: .jobs, after: token)
        #expect(try await store.take(1).count == 1)
        try await store.close()
    }

    /// A row that cannot be costs its own message, and the group goes on.
    @Test(arguments: [
        "UPDATE penstock_ready SET attempt = -5 WHERE sequence = 4", "DELETE FROM penstock_log WHERE sequence = 4",
    ]) func aRowThatIsSetAsideLetsItsPermitGo(_ sql: String) async throws {
        let store = try await makeFile()
        try await ForeignProgram(path).run(sql)
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [6])
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [5])
        try await store.close()
    }

    /// What is noted of a queue that has no groups any more is seen to, and an idle claim is a read again.
    @Test func aNoteOfAQueueWithoutGroupsIsTakenUp() async throws {
        let store = try await makeFile()
        try await store.configure(.jobs, .set(QueuePolicy()))
        _ = try await store.take(100)
        let program = try ForeignProgram(path)
        try await program.run("INSERT INTO penstock_regroup SELECT id, 'a' FROM penstock_queue")
        _ = try await store.take(100)
        #expect(try await program.number("SELECT count(*) FROM penstock_regroup") == 0)
        try await store.close()
    }

    @Test func aLimitThatIsChangedByHandHolds() async throws {
        let store = try await makeFile()
        try await store.setLimit(LimitName("db"), to: 1)
        let program = try ForeignProgram(path)
        try await program.run("UPDATE penstock_queue SET share_limit = 'db'")
        #expect(try await store.take(100).isEmpty)
        try await program.run("UPDATE penstock_limit SET count = 2")
        #expect(try await store.take(100).map(\.lease.sequence.rawValue) == [4])
        await #expect(throws: (any Error).self) { try await program.run("DELETE FROM penstock_limit") }
        await #expect(throws: (any Error).self) { try await program.run("UPDATE penstock_limit SET name = 'x'") }
        await #expect(throws: (any Error).self) { try await program.run("UPDATE penstock_queue SET share_limit = 'x'") }
        await #expect(throws: (any Error).self) { try await program.run("UPDATE penstock_queue SET limit_count = 0") }
        #expect(
            try await program.rows("SELECT limit_name, limit_count, leased, queues FROM penstock_limits")
                == ["db|2|2|[\"jobs\"]"])
        #expect(
            try await program.rows("SELECT group_key, permits, blocked, paused, held FROM penstock_groups ORDER BY 1")
                == ["a|1|2|0|0", "b|1|1|0|0"])
        try await store.close()
    }

    /// A restore gives back what was leased; a group that was paused meanwhile gives nothing.
    @Test func aRestoredFileKeepsItsGroups() async throws {
        let store = try await makeFile()
        try await store.configure(.jobs, .pauseGroup("a"))
        try await store.close()
        let copy = harness.folder.file("copy.db")
        _ = try await SQLiteStore.restore(from: path, to: copy)
        let restored = try await SQLiteStore.open(path: copy)
        #expect(try await restored.take(100).map(\.lease.sequence.rawValue) == [4, 6])
        try await restored.configure(.jobs, .resumeGroup("a"))
        #expect(try await restored.take(100).map(\.lease.sequence.rawValue) == [1])
        try await restored.close()
    }
}
