import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Rows and numbers that no program of Penstock's writes: each costs its own message, and the queue goes on.
@Suite(.timeLimit(.minutes(5))) struct ContradictionTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    /// Messages 1 to `count`, ready.
    private func open(_ count: Int = 6, _ policy: QueuePolicy = QueuePolicy()) async throws -> SQLiteStore {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        for number in 1...count { try await store.put(.text("\(number)")) }
        return store
    }

    private func sequences(_ messages: [ClaimedMessage]) -> [Int64] { messages.map(\.lease.sequence.rawValue) }

    private func isHealthy() async throws -> Bool {
        try await SQLiteStore.inspectHealth(path: path, time: harness.time).isHealthy
    }

    /// What was done by hand to message 3 of six, and what is set aside when the queue is worked.
    @Test(arguments: [
        ("DELETE FROM penstock_log WHERE sequence = 3", "penstock_ready"),
        ("UPDATE penstock_log SET queue_id = 99 WHERE sequence = 3", "penstock_ready"),
        ("UPDATE penstock_ready SET attempt = 9223372036854775807 WHERE sequence = 3", "penstock_ready"),
        ("UPDATE penstock_ready SET attempt = -9223372036854775808 WHERE sequence = 3", "penstock_ready"),
        ("INSERT INTO penstock_lease VALUES (3, 1, 7, 9, 1, 9223372036854775807, 0, 1, 0, 0)", "penstock_ready"),
    ])
    func aRowThatContradictsTheRestIsSetAside(_ sql: String, _ source: String) async throws {
        let store = try await open()
        try await ForeignProgram(path).run(sql)
        let messages = try await store.take(9)
        #expect(sequences(messages) == [1, 2, 4, 5, 6])
        let results = try await store.settle(messages.map { Settlement($0.lease, .done) })
        #expect(results == Array(repeating: .settled(.done), count: 5))
        let aside = try await ForeignProgram(path).rows("SELECT sequence, source, queue FROM penstock_quarantined")
        #expect(aside == ["3|\(source)|jobs"])
        try await store.put(.text("next"))
        #expect(try await store.take(9).count == 1)
        try await store.close()
    }

    /// How long something took is told of no moment, and ends no worker.
    @Test(arguments: [Int64.min, -1, .max])
    func momentsThatCannotBeAreNoReasonToEnd(_ moment: Int64) async throws {
        let store = try await open()
        let program = try ForeignProgram(path)
        try await program.run("UPDATE penstock_ready SET ready_since = \(moment) WHERE sequence < 3")
        try await program.run("UPDATE penstock_log SET enqueued_at = \(moment) WHERE sequence = 3")
        let messages = try await store.take(9)
        #expect(sequences(messages).count == 6)
        try await program.run("UPDATE penstock_lease SET claimed_at = \(moment)")
        var settlements = messages.map { Settlement($0.lease, .done) }
        settlements[4].verdict = .retry(error: "no")
        settlements[5].verdict = .release
        #expect(try await store.settle(settlements).count == 6)
        #expect(try await store.depths().leased == 0)
        try await store.close()
    }

    /// What is set aside counts no more, while others are still ready.
    @Test func whatIsSetAsideIsNotCounted() async throws {
        let store = try await open()
        try await ForeignProgram(path).run("DELETE FROM penstock_log WHERE sequence = 3")
        #expect(sequences(try await store.take(3)) == [1, 2, 4])
        #expect(try await store.depths().ready == 2)
        #expect(try await store.depths().leased == 3)
        #expect(try await isHealthy())
        try await store.close()
    }

    /// One message at a time, as a worker with one handler claims, and nothing else of the call is undone.
    @Test func verdictsThatCameWithTheClaimStand() async throws {
        let store = try await open()
        let first = try #require(try await store.take().first)
        try await ForeignProgram(path).run("DELETE FROM penstock_log WHERE sequence IN (2, 3, 4)")
        let performed = try await store.perform([
            .settle([Settlement(first.lease, .done)]),
            .claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))),
        ])
        guard case .settled(let results)? = performed.answers.first, case .claimed(let claim)? = performed.answers.last
        else {
            Issue.record("\(performed)")
            return
        }
        #expect(results == [.settled(.done)])
        #expect(sequences(claim.messages) == [5])
        #expect(claim.setAside.map(\.sequence.rawValue) == [2, 3, 4])
        try await store.close()
    }

    /// A worker hands in what it has done with its next claim, and its log is where that is told.
    @Test func whatAVerdictSetsAsideIsToldWithTheClaimThatCameWithIt() async throws {
        let store = try await open(3)
        let first = try #require(try await store.take().first)
        try await ForeignProgram(path).run("INSERT INTO penstock_outcome VALUES (1, 1, 'done', NULL, 1, 1)")
        let claim = StoreOperation.claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30)))
        let performed = try await store.perform([.settle([Settlement(first.lease, .done)]), claim, claim])
        let told = performed.answers.compactMap { answer -> [Int64]? in
            if case .claimed(let claim) = answer { claim.setAside.map(\.sequence.rawValue) } else { nil }
        }
        #expect(told == [[1], []])
        try await store.close()
    }

    /// A message that has ended, going by one table, and is leased or ready, going by another.
    @Test(arguments: [
        Verdict.done, .dead(error: "e"), .retry(error: "e"), .retry(error: "e", after: .seconds(9)), .release,
    ])
    func whatIsInTheWayOfAVerdictIsSetAside(_ verdict: Verdict) async throws {
        let store = try await open(3)
        let messages = try await store.take(3)
        try await ForeignProgram(path).run(
            """
            INSERT INTO penstock_outcome VALUES (1, 2, 'done', NULL, 1, 1);
            INSERT INTO penstock_ready VALUES (1, 0, 0, 2, 0, 0, 0, NULL);
            INSERT INTO penstock_scheduled VALUES (2, 1, 1, 0, 0, 0, 0);
            """)
        let results = try await store.settle(messages.map { Settlement($0.lease, verdict) })
        #expect(!results.contains(.leaseLost))
        let count = try await ForeignProgram(path).number("SELECT count(*) FROM penstock_quarantine WHERE sequence = 2")
        #expect(count == 1)
        _ = try await store.take(9)
        try await store.close()
    }

    /// Depths that were made wrong are counted anew where they would stop something.
    @Test(arguments: [
        "UPDATE penstock_depth SET ready = 1", "UPDATE penstock_depth SET ready = 9223372036854775807",
        "UPDATE penstock_depth SET scheduled = 9223372036854775807, leased = 9223372036854775807",
        "DELETE FROM penstock_depth",
        "UPDATE penstock_depth SET done_total = 9223372036854775807, enqueued_total = 9223372036854775807",
    ])
    func wrongDepthsStopNothing(_ sql: String) async throws {
        let store = try await open(6, .bounded(100, .fail))
        try await ForeignProgram(path).run(sql)
        try await store.put(.text("7"))
        let messages = try await store.take(9)
        #expect(messages.count == 7)
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        #expect(try await store.depths() == .kept(7))
        _ = try await store.log(LogQuery(queue: .jobs, .last(3)))
        try await store.configure(.jobs, .delete(force: true))
        try await store.close()
    }

    /// Rows that somebody deleted by hand do not fill a queue for ever.
    @Test func aQueueThatWasEmptiedByHandHasRoomAgain() async throws {
        let store = try await open(3, .bounded(3, .fail))
        await expect(.queueFull) { try await store.put(.text("4")) }
        try await ForeignProgram(path).run("DELETE FROM penstock_ready")
        #expect(try await store.take().isEmpty)
        try await store.put(.text("4"))
        #expect(try await store.take().count == 1)
        try await store.close()
    }

    @Test func commandsCope() async throws {
        let store = try await open()
        try await ForeignProgram(path).run("DELETE FROM penstock_log WHERE sequence IN (2, 3)")
        try await ForeignProgram(path).run("DELETE FROM penstock_ready WHERE sequence = 4")
        let error = await expect(.illegalTransition) {
            try await store.apply(.redrive, to: .sequences([SequenceNumber(2)]))
        }
        #expect(error?.message.contains("doctor --repair") == true)
        await expect(.illegalTransition) { try await store.apply(.cancel, to: .sequences([SequenceNumber(4)])) }
        #expect(try await store.apply(.cancel, to: .sequences([SequenceNumber(2)])) == 1)
        #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 4)
        let left = try await ForeignProgram(path).rows(
            "SELECT sequence FROM penstock_ready UNION SELECT sequence FROM penstock_scheduled")
        #expect(left == [])
        await expect(.unknownMessage) { try await store.apply(.cancel, to: .sequences([SequenceNumber(99)])) }
        try await ForeignProgram(path).run("INSERT INTO penstock_ready VALUES (1, 0, 0, 77, 0, 0, 0, NULL)")
        try await store.configure(.jobs, .delete(force: true))
        for table in ["ready", "log", "outcome", "depth"] {
            #expect(try await ForeignProgram(path).number("SELECT count(*) FROM penstock_\(table)") == 0, "\(table)")
        }
        try await store.close()
    }

    @Test func theOldestIsFoundBehindARowThatTheLogDoesNotHave() async throws {
        let store = try await open(3, .bounded(3, .dropOldest))
        try await ForeignProgram(path).run("DELETE FROM penstock_log WHERE sequence = 1")
        let receipt = try await store.put(.text("4"))
        #expect(receipt.displaced == SequenceNumber(2))
        #expect(sequences(try await store.take(9)) == [3, 4])
        try await store.close()
    }

    /// A key whose holder is gone keeps nobody out.
    @Test func aKeyThatNobodyHoldsIsFree() async throws {
        let store = try await open(1)
        try await ForeignProgram(path).run("INSERT INTO penstock_unique VALUES (1, 'k', 999, NULL)")
        #expect(try await !store.put(.text("it", key: "k")).skipped)
        #expect(try await store.put(.text("it", key: "k")).skipped)
        try await store.close()
    }

    /// A lease of a queue that is not there stops no one from finding the work of the dead.
    @Test func aLeaseOfNoQueueStopsNoReclaim() async throws {
        let store = try await open(2)
        let dead = try await harness.openStore()
        #expect(try await dead.take().count == 1)
        await dead.crash()
        try await ForeignProgram(path).run("INSERT INTO penstock_lease VALUES (50, 99, 7, 9, 1, 1, 0, 1, 0, 0)")
        #expect(try await store.reclaim().fromDeadWorkers >= 1)
        #expect(sequences(try await store.take(9)) == [1, 2])
        try await store.close()
    }

    /// Numbers at the ends of an integer: an error of one sentence, and never a trap.
    @Test(arguments: [Int64.max, .max - 1, 1 << 62, -5, .min])
    func aLastSequenceNumberThatCannotBe(_ last: Int64) async throws {
        let store = try await open(2)
        try await ForeignProgram(path).run("UPDATE penstock_state SET last_sequence = \(last)")
        let error = await expect(.corrupt) { try await store.put(.text("x")) }
        #expect(error?.message.contains("doctor --repair") == true)
        await expect(.corrupt) {
            try await store.append([.text("x")], to: .jobs, unless: nil, durability: .processCrash)
        }
        #expect(sequences(try await store.take(9)) == [1, 2], "What is there is worked.")
        _ = try await store.log(LogQuery(queue: .jobs, .last(1)))
        #expect(try await !isHealthy())
        let report = try await SQLiteStore.repair(path: path, time: harness.time)
        #expect(report.repairs.map(\.kind) == [.wrongSequence])
        #expect(try await store.put(.text("x")).sequence.rawValue == 2 + SequenceJump.gap + 1)
        #expect(try await isHealthy())
        try await store.close()
    }

    @Test(arguments: [Int64.max, .min]) func numbersOfAMessageThatCannotBe(_ number: Int64) async throws {
        let store = try await open(3)
        try await store.put(.text("later", due: .after(.seconds(60))))
        let messages = try await store.take(2)
        try await ForeignProgram(path).run(
            """
            UPDATE penstock_lease SET attempt = \(number), forgiven = \(~number);
            UPDATE penstock_ready SET forgiven = \(number);
            UPDATE penstock_scheduled SET attempt = \(number), due_at = 1;
            UPDATE penstock_depth SET leased = 9223372036854775807;
            INSERT INTO penstock_cursor VALUES (1, 'c', 1, 9223372036854775807, NULL, 0);
            """)
        _ = try await store.settle([
            Settlement(messages[0].lease, .retry(error: "e")), Settlement(messages[1].lease, .release),
        ])
        _ = try await store.take(9)
        harness.time.advance(by: .seconds(60))
        _ = try await store.reclaim()
        _ = try await store.status(of: nil).queues.map(\.depths.waiting)
        let cursor = CursorName(stored: "c")
        _ = try await store.moveCursor(cursor, of: .jobs, .advance(to: SequenceNumber(2), missed: 5))
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready, .leased, .scheduled]))
        _ = try await store.prune(PruneRequest(retention: Retention(age: .zero)))
        try await store.close()
    }
}

extension Depths {
    fileprivate static func kept(_ count: Int) -> Depths {
        var depths = Depths()
        depths.kept = count
        return depths
    }
}
