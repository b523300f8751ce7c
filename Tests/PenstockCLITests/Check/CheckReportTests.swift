import Penstock
import PenstockCore
import Testing

@testable import PenstockCLI

@Suite struct CheckReportTests {
    private let now = Timestamp(microseconds: 1_000_000_000)

    private func status(ready: Int = 0, dead: Int = 0, capacity: Int? = nil, workers: Int = 0) throws -> StoreStatus {
        var depths = Depths()
        depths.ready = ready
        depths.dead = dead
        let queue = QueueStatus(
            name: try QueueName("a|b='c"),
            policy: QueuePolicy(capacity: capacity.map { Capacity($0, whenFull: .fail) }),
            isPaused: false, depths: depths, totals: Totals())
        let records = (0..<workers).map {
            WorkerRecord(
                id: Int64($0), name: "w", processID: 1, startedAt: Timestamp(microseconds: 0), isAlive: $0 > 0,
                leased: 0,
                oldestClaim: nil)
        }
        return StoreStatus(queues: [queue], workers: records)
    }

    @Test(arguments: [(4, "ok"), (5, "ok"), (6, "warning"), (10, "warning"), (11, "critical")])
    func upToABoundAllIsWell(ready: Int, word: String) throws {
        let report = CheckReport(try status(ready: ready), CheckBounds(ready: try Values.countBound("5,10")), now: now)
        #expect(report.state.word == word)
    }

    @Test(arguments: [(59, "ok"), (60, "ok"), (61, "warning"), (301, "critical"), (-5, "ok")])
    func theOldestReadyMessageMayBeSoOld(seconds: Int, word: String) throws {
        var status = try status(ready: 1)
        status.queues[0].oldestReady = now - .seconds(seconds)
        let bounds = CheckBounds(age: try Values.secondsBound("1m,5m"))
        #expect(CheckReport(status, bounds, now: now).state.word == word)
        status.queues[0].oldestReady = nil
        #expect(CheckReport(status, bounds, now: now).state == .ok)
    }

    @Test(arguments: [(4, "ok"), (3, "warning"), (2, "critical")])
    func downToABoundAllIsWell(workers: Int, word: String) throws {
        // One of them is dead.
        let report = CheckReport(
            try status(workers: workers), CheckBounds(workers: try Values.countBound("3,2")), now: now)
        #expect(report.state.word == word)
    }

    /// At a standby: of none it is said that it is dead.
    @Test func workersOfWhichNobodyKnowsAreNotCounted() throws {
        var status = try status(workers: 2)
        #expect(CheckReport(status, CheckBounds(), now: now).summary.hasSuffix("; 1 worker"))
        status.workers[0].isAlive = nil
        #expect(!CheckReport(status, CheckBounds(), now: now).summary.contains("worker"))
    }

    /// Without a bound as well: it takes nothing, however well its queues look. Nothing of the other store's name moves a terminal.
    @Test(arguments: StoreMove.Phase.allCases) func aStoreThatMovesAwayIsCritical(_ phase: StoreMove.Phase) throws {
        var status = try status()
        status.move = StoreMove(phase: phase, source: "a.db", target: "b|\u{1B}.db")
        let report = CheckReport(status, CheckBounds(dead: try Values.countBound("0")), now: now)
        #expect(report.state == .critical)
        let what = phase == .moved ? "have moved" : "are being moved"
        #expect(report.textLines == ["fail  The queues \(what) to b|\\x1B.db: nothing is taken or given here."])
        let first = "PENSTOCK CRITICAL - The queues \(what) to b/\\x1B.db: nothing is taken or given here"
        #expect(report.nagiosLines[0].hasPrefix("\(first) | 'moved'=1;;0;0"))
    }

    /// As half a copy is, of which nobody else would hear.
    @Test func aQueueThatIsClosedIsAWarning() throws {
        var status = try status()
        status.queues[0].isDeleting = true
        let report = CheckReport(status, CheckBounds(), now: now)
        #expect(report.state == .warning)
        #expect(
            report.problems.map(\.line).allSatisfy {
                $0.hasSuffix("being deleted, or copied here, and takes and gives nothing")
            })
        #expect(report.problems.count == 1)
    }

    @Test func oneBoundIsCritical() throws {
        let bounds = CheckBounds(dead: try Values.countBound("0"))
        #expect(CheckReport(try status(dead: 1), bounds, now: now).state == .critical)
        #expect(CheckReport(try status(), bounds, now: now).state == .ok)
        #expect(CheckReport(try status(dead: 1), CheckBounds(), now: now).state == .ok)
    }

    @Test func aQueueWithoutACapacityHasNoneUsed() throws {
        let bounds = CheckBounds(used: try Values.countBound("50,80"))
        #expect(CheckReport(try status(ready: 9), bounds, now: now).findings.isEmpty)
        #expect(CheckReport(try status(ready: 9, capacity: 10), bounds, now: now).state == .critical)
        #expect(CheckReport(try status(ready: 5, capacity: 10), bounds, now: now).state == .ok)
        // A capacity that was made smaller may be exceeded.
        #expect(CheckReport(try status(ready: 30, capacity: 10), bounds, now: now).findings.map(\.value) == [300])
    }

    /// The bar, the quote and the equals sign have meanings of their own there.
    @Test func pluginsLinesKeepTheirForm() throws {
        let bounds = CheckBounds(
            ready: try Values.countBound("1,5"), dead: try Values.countBound("0"), workers: try Values.countBound("1"))
        let report = CheckReport(try status(ready: 2, dead: 3, workers: 2), bounds, now: now)
        #expect(
            report.nagiosLines == [
                "PENSTOCK CRITICAL - queue a/b='c: 3 dead letters, at most 0, and 1 more"
                    + " | 'a_b__c ready'=2;1;5;0 'a_b__c dead'=3;;0;0 'workers'=1;;1:;0",
                "warning: queue a/b='c: 2 messages ready, at most 1",
            ])
        #expect(
            report.textLines == [
                "fail  queue a|b='c: 3 dead letters, at most 0.", "warn  queue a|b='c: 2 messages ready, at most 1.",
            ])
    }

    @Test(arguments: ["", "x", "-1", "1,2,3", "1,", ",1"])
    func refusesBounds(text: String) {
        #expect(throws: (any Error).self) { try Values.countBound(text) }
    }

    @Test func boundsOfDurationsAreSeconds() throws {
        let bound = try Values.secondsBound("1m,1h")
        #expect(bound.warning == 60)
        #expect(bound.critical == 3600)
    }
}
