import Foundation
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What follows from the end of a task that many wait for: in steps, by any process that comes next, and to the same
/// end whatever dies between two of them.
@Suite(.timeLimit(.minutes(5))) struct CascadeTests {
    private let harness = SQLiteHarness()
    private var path: String { harness.path }

    private func left() async throws -> [String] {
        try await ForeignProgram(path).rows("SELECT workflow_id, sequence FROM penstock_cascade")
    }

    private func expectHealthy() async throws {
        let report = try await SQLiteStore.inspectHealth(path: path, time: harness.time)
        #expect(report.findings.filter { $0.severity == .error } == [])
    }

    /// A verdict costs a bounded step, whatever waits. Another process goes on when the one that gave it is dead.
    @Test func aClaimGoesOnWithWhatAnotherProcessLeft() async throws {
        let doomed = try await harness.openWithJobs()
        let first = try await doomed.begin(fan(2500))[0]
        try await doomed.work(.done)
        #expect(try await left() == ["0|\(first)"])
        await doomed.crash()
        let store = try await harness.openWithJobs()
        #expect(try await store.counts() == [.done: 1, .ready: 1000, .pending: 1500])
        try await expectHealthy()
        #expect(try await store.take(1).count == 1)
        #expect(try await store.counts() == [.done: 1, .leased: 1, .ready: 1999, .pending: 500])
        #expect(try await store.take(1).count == 1)
        #expect(try await left() == [])
        #expect(try await store.counts() == [.done: 1, .leased: 2, .ready: 2498])
        try await store.close()
    }

    @Test func aLookForLostWorkGoesOnToTheEnd() async throws {
        let doomed = try await harness.openWithJobs()
        try await doomed.begin(fan(10_000))
        try await doomed.work(.dead(error: "e"))
        await doomed.crash()
        let store = try await harness.openWithJobs()
        #expect(try await store.counts()[.cancelled] == 1000)
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await store.counts() == [.dead: 1, .cancelled: 10_000])
        #expect(try await left() == [])
        try await expectHealthy()
        try await store.close()
    }

    /// The disk is full after the first step: others go on with the rest, so it is not true that nothing was done.
    @Test func aCancelThatCannotGoOnIsNotRefused() async throws {
        let store = try await harness.openWithJobs { throw PenstockError(.diskFull, "There is no room.") }
        try await store.begin(fan(2500))
        let error = await #expect(throws: PenstockError.self) { try await store.cancel(WorkflowName("flow")) }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.message.contains("There is no room.") == true)
        await store.crash()
        let other = try await harness.openWithJobs()
        _ = try await other.reclaim()
        #expect(try await other.counts() == [.cancelled: 2501])
        try await other.close()
    }

    /// The task comes back while the first pass is not through: the new one begins at the first.
    @Test func aTaskThatComesBackInTheMiddleOfItsCascadeIsGoneThroughAnew() async throws {
        struct Stopped: Error {}
        let store = try await harness.openWithJobs { throw Stopped() }
        let first = try await store.begin(fan(2500))[0]
        try await store.work(.dead(error: "e"))
        #expect(try await store.counts() == [.dead: 1, .cancelled: 1000, .pending: 1500])
        // It stops between two of its steps, as a process that dies.
        await #expect(throws: Stopped.self) {
            try await store.apply(.redrive, to: .sequences([SequenceNumber(first)]))
        }
        await store.crash()
        let other = try await harness.openWithJobs()
        _ = try await other.reclaim()
        #expect(try await other.counts() == [.ready: 1, .pending: 2500])
        try await expectHealthy()
        try await other.work(.done)
        _ = try await other.reclaim()
        #expect(try await other.counts() == [.done: 1, .ready: 2500])
        try await other.close()
    }

    @Test func aCancelIsFinishedByOthers() async throws {
        struct Stopped: Error {}
        let doomed = try await harness.openWithJobs { throw Stopped() }
        try await doomed.begin(fan(3500))
        await #expect(throws: Stopped.self) { try await doomed.cancel(.flow) }
        await doomed.crash()
        let store = try await harness.openWithJobs()
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.cancelled: 3501])
        let reasons = try await ForeignProgram(path).rows("SELECT DISTINCT reason FROM penstock_outcome")
        #expect(reasons == ["requested"], "Not since others were.")
        #expect(try await store.cancel(.flow) == 0)
        try await expectHealthy()
        try await store.close()
    }

    @Test func aLongChainFollowsItsHead() async throws {
        let store = try await harness.openWithJobs()
        let count = 10_000
        let head = try await store.begin((1...count).map { ("\($0)", $0 == 1 ? [] : ["\($0 - 1)"]) })[0]
        try await store.work(.dead(error: "e"))
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.dead: 1, .cancelled: count - 1])
        // A call that goes in steps goes on to the end.
        _ = try await store.apply(.redrive, to: .sequences([SequenceNumber(head)]))
        #expect(try await store.counts() == [.ready: 1, .pending: count - 1])
        try await expectHealthy()
        try await store.close()
    }

    /// Workers that all wait are told that there is something to go on with, as of the messages of the dead.
    @Test func aLookSeesThatSomethingIsLeft() async throws {
        let store = try await harness.openWithJobs()
        let poller = ChangePoller(
            path: path, folder: SharedFolder(existingBesideDatabaseAt: path), time: harness.time)
        defer { poller.close() }
        try await store.begin(fan(1500))
        #expect(try !poller.look(forTheDead: false).hasLostWork)
        try await store.work(.done)
        #expect(try poller.look(forTheDead: false).hasLostWork)
        #expect(try poller.look(forTheDead: false).hasLostWork, "Until somebody has gone on.")
        _ = try await store.reclaim()
        #expect(try !poller.look(forTheDead: false).hasLostWork)
        try await store.close()
    }

    /// A pass over what agrees already changes nothing, however often it comes.
    @Test func whatAgreesIsNotTouched() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["b"]), ("d", [])])
        try await store.work(.dead(error: "e"))
        let everything = """
            SELECT sequence || state || coalesce(reason, '') || finished_at FROM penstock_outcome
            UNION ALL SELECT sequence || 'ready' FROM penstock_ready UNION ALL SELECT parent || child || state
            FROM penstock_dependency UNION ALL SELECT cancelled_total FROM penstock_depth
            """
        let program = try ForeignProgram(path)
        let before = try await program.rows(everything)
        harness.time.advance(by: .seconds(1))
        try await program.run("INSERT INTO penstock_cascade SELECT 0, sequence, 0 FROM penstock_task")
        _ = try await store.reclaim()
        #expect(try await left() == [])
        #expect(try await program.rows(everything) == before)
        try await store.close()
    }

    /// Rows that a program has made wrong cost only themselves, and do not stay for ever.
    @Test(arguments: [
        "INSERT INTO penstock_dependency VALUES (1, 999, 'done', 'cancel', 'open')",
        "INSERT INTO penstock_dependency VALUES (1, -9223372036854775808, 'done', 'cancel', 'open')",
        "INSERT INTO penstock_dependency VALUES (1, 1, 'done', 'cancel', 'open')",
        "INSERT INTO penstock_dependency VALUES (2, 1, 'ended', 'hold', 'met')",
        "INSERT INTO penstock_cascade VALUES (0, -5, 9223372036854775807), (7, 0, -1), (7, 8, 9), (0, 0, 0)",
        "INSERT INTO penstock_task VALUES (999, 1, 'stray', NULL, NULL)",
        "UPDATE penstock_task SET due_at = 9223372036854775807, delay = 315360000000000 WHERE sequence = 3",
        "UPDATE penstock_task SET due_at = -9223372036854775808 WHERE sequence = 3",
        "DELETE FROM penstock_workflow", "DELETE FROM penstock_log WHERE sequence = 3",
        "UPDATE penstock_pending SET attempt = 9223372036854775807, forgiven = -1 WHERE sequence = 3",
        "INSERT INTO penstock_awaited VALUES (2, 1, 'x'), (999, 1, 'x')",
    ])
    func wrongRowsCostOnlyThemselves(_ sql: String) async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"]), ("c", ["a"])])
        try await ForeignProgram(path).run(sql)
        try await store.work(.done)
        _ = try await store.reclaim()
        _ = try? await store.emit(NewEvent(EventName("x")), to: .workflow(.flow), durability: .processCrash)
        let taken = try await store.take(5).map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(taken.first == "b")
        #expect(try await left() == [])
        _ = try? await store.tasks(TaskQuery(.flow))
        try await store.close()
        _ = try await SQLiteStore.repair(path: path, time: harness.time)
        try await expectHealthy()
    }

    /// Rows that a program has made for numbers that were not given yet.
    @Test func rowsForMessagesToComeAreInNobodysWay() async throws {
        let store = try await harness.openWithJobs()
        try await ForeignProgram(path).run(
            "INSERT INTO penstock_dependency VALUES (1, 2, 'done', 'cancel', 'met'), (9, 1, 'done', 'cancel', 'open')")
        try await store.begin([("a", []), ("b", ["a"])])
        #expect(try await store.counts() == [.ready: 1, .pending: 1])
        try await store.work(.done)
        #expect(try await store.counts() == [.done: 1, .ready: 1])
        try await store.close()
    }

    /// Its task is done while others are still to be told that it had come back: they wait again, for the other one.
    @Test func aChildThatWasCancelledWaitsAgainForTheOtherTask() async throws {
        struct Stopped: Error {}
        let store = try await harness.openWithJobs { throw Stopped() }
        let first = try await store.begin([("p", []), ("q", [])] + (1...2500).map { ("\($0)", ["p", "q"]) })[0]
        let lease = try await store.take(2)[0].lease
        _ = try await store.settle([Settlement(lease, .dead(error: "e"))])
        for _ in 1...2 { #expect(try await store.take(1).isEmpty) }
        #expect(try await store.counts() == [.dead: 1, .leased: 1, .cancelled: 2500])
        await #expect(throws: Stopped.self) {
            try await store.apply(.redrive, to: .sequences([SequenceNumber(first)]))
        }
        try await store.work(.done)
        _ = try await store.reclaim()
        #expect(try await left() == [])
        #expect(try await store.counts() == [.done: 1, .leased: 1, .pending: 2500])
        await store.crash()
    }

    /// A plain INSERT drops a task of a full queue: what waits for it learns of it as of any other end.
    @Test func aPlainInsertThatDropsATaskIsTold() async throws {
        let store = try await harness.openWithJobs()
        try await store.begin([("a", []), ("b", ["a"])])
        try await store.configure(.jobs, .set(.bounded(1, .dropOldest)))
        try await ForeignProgram(path).run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'x')")
        #expect(try await store.take().map { String(decoding: $0.payload, as: UTF8.self) } == ["x"])
        #expect(try await store.counts() == [.dropped: 1, .cancelled: 1])
        try await expectHealthy()
        try await store.close()
    }

    /// Its caller is a worker of whatever queue, and claims and settles nothing meanwhile.
    @Test func aLookForLostWorkGoesOnWithACascadeForAWhileOnly() async throws {
        struct Stopped: Error {}
        let doomed = try await harness.openWithJobs { throw Stopped() }
        let first = try await doomed.begin([("p", [])] + (1...4500).map { ("\($0)", ["p"]) })[0]
        await #expect(throws: Stopped.self) {
            try await doomed.apply(.cancel, to: .sequences([SequenceNumber(first)]))
        }
        await doomed.crash()
        var options = SQLiteStore.Options(time: harness.time)
        options.asleep = { [time = harness.time] in
            time.advance(by: Reclaiming.cascadeTimeMax)
            return .zero
        }
        let store = try await SQLiteStore.open(path: path, options: options)
        var lookCount = 0
        while try await !left().isEmpty, lookCount < 20 {
            _ = try await store.reclaim()
            lookCount += 1
        }
        #expect((2..<20).contains(lookCount))
        #expect(try await store.counts() == [.cancelled: 4501])
        try await store.close()
    }
}
