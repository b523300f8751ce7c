import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a repair does, says that it does, and keeps of what it takes away.
@Suite(.timeLimit(.minutes(5))) struct RepairTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// What was done to the file by hand, and what is put into quarantine.
    @Test(arguments: [
        ("UPDATE penstock_depth SET ready = 7, kept = 0", []),
        ("DELETE FROM penstock_depth", []),
        ("DELETE FROM penstock_ready WHERE sequence = 4", ["unique 4"]),
        ("INSERT INTO penstock_outcome VALUES (1, 4, 'done', NULL, 1, 1)", ["ready 4", "unique 4"]),
        ("INSERT INTO penstock_ready VALUES (1, 0, 0, 3, 0, 0, 0, NULL)", ["ready 3"]),
        ("UPDATE penstock_ready SET priority = 3 WHERE sequence = 4", []),
        ("UPDATE penstock_ready SET turn = 2 WHERE sequence = 4", []),
        ("UPDATE penstock_ready SET priority = 3, turn = 2 WHERE sequence = 4", []),
        ("INSERT INTO penstock_ready VALUES (1, 0, 2, 4, 0, 0, 0, NULL)", ["ready 4"]),
        ("UPDATE penstock_log SET turn = 2 WHERE sequence = 4", []),
        ("UPDATE penstock_log SET turn = 9223372036854775807 WHERE sequence = 1", []),
        ("DELETE FROM penstock_log WHERE sequence = 1", ["outcome 1"]),
        ("DELETE FROM penstock_log WHERE sequence = 5", ["ready 5", "unique 5"]),
        ("DELETE FROM penstock_unique WHERE sequence = 5", []),
        ("INSERT INTO penstock_unique VALUES (1, 'nobody', 999, NULL)", ["unique 999"]),
        ("UPDATE penstock_log SET unique_key = 'key 4' WHERE sequence = 5", ["unique 5"]),
        ("UPDATE penstock_state SET last_sequence = 3", []),
        ("UPDATE penstock_state SET last_sequence = 9223372036854775807", []),
        ("UPDATE penstock_state SET policy_version = 9223372036854775807", []),
        ("DELETE FROM penstock_state", []),
        ("UPDATE penstock_ready SET attempt = 9223372036854775807 WHERE sequence = 4", ["ready 4"]),
        ("UPDATE penstock_lease SET forgiven = -1", ["lease 3"]),
        ("INSERT INTO penstock_cancel VALUES (3, 1, 0, 0, NULL)", []),
        ("INSERT INTO penstock_progress VALUES (3, 1, 'x', 0)", []),
        ("UPDATE penstock_lease SET marks = marks | 64 | 256", []),
        ("UPDATE penstock_depth SET enqueued_total = -9", []),
        ("UPDATE penstock_depth SET enqueued_total = 9223372036854775807", []),
        ("UPDATE penstock_log SET sequence = -4 WHERE sequence = 4", ["log -4", "ready 4", "unique 4"]),
        (
            "UPDATE penstock_log SET sequence = 4611686018427387899 WHERE sequence = 4",
            ["log 4611686018427387899", "ready 4", "unique 4"]
        ),
        ("UPDATE penstock_log SET headers = 'no JSON' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = '' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = '[\"a\"]' WHERE sequence = 1", ["log 1"]),
        ("UPDATE penstock_log SET headers = '{\"a\": \"b\", \"c\": 1}' WHERE sequence = 3", ["log 3"]),
        ("UPDATE penstock_log SET headers = '{\"a=b\": \"1\"}' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = '{\"\": \"1\"}' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = '{\"a\": \"\\u0000\"}' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = '{\"a-b\": \"1\", \"A_B\": \"2\"}' WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET headers = json_object('a', hex(zeroblob(8192))) WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_log SET enqueued_at = 9223372036854775807 WHERE sequence = 4", ["log 4"]),
        ("UPDATE penstock_scheduled SET due_at = 9223372036854775807", ["scheduled 6"]),
        ("UPDATE penstock_lease SET claimed_at = -9223372036854775808", ["lease 3"]),
        ("UPDATE penstock_outcome SET finished_at = -1 WHERE sequence = 1", ["outcome 1"]),
        ("UPDATE penstock_attempt SET started_at = -1, ended_at = 9223372036854775807", []),
        ("UPDATE penstock_worker SET started_at = 9223372036854775807", []),
        ("UPDATE penstock_log SET expires_at = 9223372036854775807 WHERE sequence = 4", ["log 4"]),
        ("INSERT INTO penstock_group_pause (queue_id, group_key, paused_at) VALUES (1, 'g', -1)", []),
        ("INSERT INTO penstock_worker VALUES (71, '../victim', 'w', 1, 'b', 0)", []),
        ("INSERT INTO penstock_cursor VALUES (1, 'reader', 1, 0, NULL, -1)", ["cursor 1"]),
        ("INSERT INTO penstock_cursor VALUES (1, 'ahead', 999, 0, NULL, 0)", ["cursor 999"]),
        ("INSERT INTO penstock_cursor VALUES (9, 'lost', 1, 0, NULL, 0)", ["cursor 1"]),
        (
            "INSERT INTO penstock_log (sequence, queue_id, enqueued_at, payload) VALUES (6000, 9, 0, x'41')",
            ["log 6000"]
        ),
    ])
    func whatIsFoundIsRepaired(_ sql: String, _ aside: [String]) async throws {
        let store = try await harness.openWithEachPlace()
        let program = try ForeignProgram(path)
        try await program.run(sql)
        #expect(try await !harness.findings().isEmpty)

        let everything =
            "SELECT * FROM penstock_quarantine UNION ALL SELECT sequence, queue_id, '', '', 0, 0, '', '' "
            + "FROM penstock_ready"
        let before = try await program.rows(everything)
        let wouldBe = try await SQLiteStore.repair(path: path, dryRun: true, time: harness.time)
        #expect(wouldBe.isDryRun)
        #expect(try await program.rows(everything) == before)
        #expect(try await !harness.findings().isEmpty, "A dry run changes nothing.")

        let done = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(!done.repairs.isEmpty)
        #expect(done.repairs == wouldBe.repairs, "It does what it said.")
        #expect(try await harness.findings() == [])
        let kept = try await program.rows("SELECT source || ' ' || sequence FROM penstock_quarantine ORDER BY 1")
        #expect(kept == aside.map { "penstock_\($0)" })
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [], "Once is enough.")

        // The store that was open all the while goes on.
        try await store.put(.text("new", key: "new"))
        _ = try await store.settle(try await store.take(9).map { Settlement($0.lease, .done) })
        #expect(try await harness.findings() == [])
        try await store.close()
    }

    /// Nobody knows whether a message without a place was worked: it waits for a person, and nothing of it is lost.
    @Test func aMessageWithoutAPlaceBecomesADeadLetter() async throws {
        let store = try await harness.openWithEachPlace()
        try await ForeignProgram(path).run("DELETE FROM penstock_ready WHERE sequence = 4")
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        let record = try #require(try await store.messages(MessageQuery(sequences: [SequenceNumber(4)])).first)
        #expect(record.state == .dead)
        #expect(record.reason == .misplaced)
        #expect(try await store.apply(.redrive, to: .sequences([SequenceNumber(4)])) == 1)
        #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [4, 5])
        try await store.close()
    }

    /// When it was to expire nobody knows, and a message is not lost by a guess.
    @Test func aMessageThatExpiresAtNoTimeExpiresNoMore() async throws {
        let store = try await harness.openWithEachPlace()
        let sequence = try await store.put(.text("soon", expiry: .after(.seconds(50)))).sequence
        try await ForeignProgram(path).run("UPDATE penstock_log SET expires_at = -1 WHERE sequence = \(sequence)")
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await harness.findings() == [])
        let record = try #require(try await store.messages(MessageQuery(sequences: [sequence])).first)
        #expect(record.state == .ready && record.expiresAt == nil)
        try await store.close()
    }

    /// The time is one that can be, and so far away that nobody can have meant it.
    @Test func aGroupThatIsPutOffForGoodBeginsAgain() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(groups: .fifo()), ifAbsent: true))
        try await store.put(.text("x", group: "g"))
        let program = try ForeignProgram(path)
        for statement in [
            "INSERT INTO penstock_rate (queue_id, tat, clock, wall_offset) VALUES (1, NULL, '', 0)",
            "INSERT INTO penstock_group_rate (queue_id, group_key, tat, held_until) VALUES (1, 'g', 0, 253402300799999999)",
            "INSERT INTO penstock_regroup (queue_id, group_key) VALUES (1, 'g')",
        ] {
            try await program.run(statement)
        }
        #expect(try await store.take().isEmpty)
        #expect(try await harness.findings().map(\.kind) == [.wrongTimes])
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs.map(\.kind) == [.wrongTimes])
        #expect(try await harness.findings() == [])
        #expect(try await store.take().count == 1)
        try await store.close()
    }

    /// When it was due nobody knows.
    @Test func aMessageThatIsDueAtNoTimeBecomesADeadLetter() async throws {
        let store = try await harness.openWithEachPlace()
        try await ForeignProgram(path).run("UPDATE penstock_scheduled SET due_at = 9223372036854775807")
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        let record = try #require(try await store.messages(MessageQuery(sequences: [SequenceNumber(6)])).first)
        #expect(record.state == .dead)
        try await store.close()
    }

    /// What could not be read is kept, and the payload stays where it is.
    @Test func headersThatCannotBeReadAreKeptAside() async throws {
        let store = try await harness.openWithEachPlace()
        let program = try ForeignProgram(path)
        try await program.run("UPDATE penstock_log SET headers = 'no JSON' WHERE sequence = 4")
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(
            try await program.rows("SELECT columns ->> 'headers', payload FROM penstock_quarantine") == ["no JSON|NULL"]
        )
        #expect(
            try await program.rows("SELECT headers, CAST(payload AS TEXT) FROM penstock_log WHERE sequence = 4") == [
                "NULL|4"
            ])
        try await store.close()
    }

    /// The doctor asks of headers what an enqueue asks.
    @Test func headersThatAnEnqueueTakesAreWell() async throws {
        let store = try await harness.openWithEachPlace()
        var message = NewMessage.text("with headers")
        for number in 1..<Limits.headerCountMax { message.headers["a.B_-\(number)"] = "" }
        message.headers[String(repeating: "n", count: Limits.headerNameBytesMax)] = "\\u0000 \u{1} é"
        try await store.put(message)
        let room = Limits.headerBytesMax - 1
        message.headers = ["a": String(repeating: "é", count: room / 2) + String(repeating: "x", count: room % 2)]
        try await store.put(message)
        #expect(try await harness.findings() == [])
        try await store.close()
    }

    @Test func whatIsTakenAwayIsKeptWhole() async throws {
        let store = try await harness.openWithEachPlace()
        try await ForeignProgram(path).run(
            "INSERT INTO penstock_log (sequence, queue_id, enqueued_at, headers, payload) VALUES (60, 9, 0, '{}', x'00ff')"
        )
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        let kept = try await ForeignProgram(path).rows(
            "SELECT reason, columns ->> 'headers', payload FROM penstock_quarantine")
        #expect(kept == ["The queue does not exist.|{}|x'00ff'"])
        try await store.close()
    }

    /// All that waits is looked at, and what is looked for beside each row may be as much.
    @Test func secondPlacesAreFoundByIndexes() async throws {
        try await harness.openWithEachPlace().close()
        let program = try ForeignProgram(path)
        #expect(Repairing.secondPlaces.count == 5)
        for (source, condition) in Repairing.secondPlaces {
            let steps = try await program.rows(
                "EXPLAIN QUERY PLAN SELECT 1 FROM \(source.table) AS line WHERE \(condition)")
            #expect(steps.contains { $0.contains("SEARCH other") }, "\(steps)")
            #expect(!steps.contains { $0.contains("SCAN other") }, "\(steps)")
        }
    }

    @Test func unfinishedDeletionsAreFinishedOrGivenUp() async throws {
        let store = try await harness.openWithEachPlace()
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        _ = try await store.append([.text("done")], to: .mail, unless: nil, durability: .processCrash)
        try await ForeignProgram(path).run("UPDATE penstock_queue SET deleting = 1")
        #expect(try await harness.findings().map(\.kind) == [.deletionUnfinished, .deletionUnfinished])
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(try await harness.findings() == [])
        let queues = try await store.status(of: nil).queues
        #expect(queues.map(\.name) == [.jobs], "Its messages wait, and so it stays.")
        #expect(queues.map(\.isDeleting) == [false])
        try await store.put(.text("goes on"))
        try await store.close()
    }

    @Test func aSoundFileIsLeftAsItIs() async throws {
        try await harness.openWithEachPlace().close()
        let before = try bytes(of: path)
        #expect(try await SQLiteStore.repair(path: path, time: harness.time).repairs == [])
        #expect(try bytes(of: path) == before)
        await expect(.notFound) { try await SQLiteStore.repair(path: path + "-none") }
    }

    /// Damage in a page that a repair has no other reason to read.
    @Test func aDamagedFileIsLeftAsItIs() async throws {
        let store = try await harness.openWithEachPlace()
        try await store.put(.long(5))
        try await store.close()
        try damagePayload(5, in: path)
        try await ForeignProgram(path).run("UPDATE penstock_depth SET ready = 7")
        await expect(.corrupt) { try await SQLiteStore.repair(path: path, time: harness.time) }
        #expect(try await ForeignProgram(path).rows("SELECT ready FROM penstock_depth") == ["7"])
    }

    @Test func aFileOfAnotherSchemaIsRefused() async throws {
        try await makeOlderFile(version: 9, at: path)
        await expect(.olderSchema) { try await SQLiteStore.repair(path: path) }
        try await ForeignProgram(path).run("INSERT INTO penstock_migration VALUES (99, 'later', 0)")
        await expect(.newerSchema) { try await SQLiteStore.repair(path: path) }
    }

    /// A link is another name of the same file: its workers live.
    @Test func aLinkIsFollowed() async throws {
        let store = try await harness.openWithEachPlace()
        let link = harness.folder.file("link.db")
        #expect(symlink(path, link) == 0)
        let report = try await SQLiteStore.inspectHealth(path: link, time: harness.time)
        #expect(report.deadWorkers.isEmpty)
        #expect(report.findings == [])
        #expect(try await SQLiteStore.repair(path: link, time: harness.time).repairs == [])
        try await store.close()
    }

    /// Another process begins the index of the log.
    @Test func aLockThatSQLiteGivesUpIsWaitedFor() async throws {
        let store = try await harness.openWithEachPlace()
        var tries = 0
        let report = try SQLiteStore.repair(resolved: path, dryRun: false, now: harness.time.now) {
            tries += 1
            if tries == 1 { throw DatabaseError(resultCode: .SQLITE_PROTOCOL) }
            return try DatabaseQueue(path: $0, configuration: $1)
        }
        #expect(tries == 2)
        #expect(report.repairs == [])
        try await store.close()
    }
}
