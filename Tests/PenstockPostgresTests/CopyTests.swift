import Foundation
import Penstock
import PenstockConformance
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockPostgres
@testable import PenstockSQL

/// Moving house between a file and a database, and back.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct CopyTests {
    private let harness: PostgresHarness
    private let folder = TemporaryFolder()
    private let jobs = QueueName(stored: "jobs")

    init() throws { harness = try PostgresHarness() }

    private func openFile(_ name: String) async throws -> PenstockStore {
        try await PenstockStore.open(path: folder.file(name), options: .init(time: harness.time))
    }

    /// Queues of several kinds with messages, workflows, schedules and cursors.
    private func fill(_ store: any MessageStore) async throws {
        try await store.configure(
            jobs, .create(QueuePolicy(retry: RetryPolicy(attemptsMax: 2, base: .zero)), ifAbsent: false))
        let groups = QueueName(stored: "groups")
        try await store.configure(groups, .create(QueuePolicy(groups: .limit(2), isFair: true), ifAbsent: false))
        for number in 1...700 {
            let message = NewMessage(
                payload: [0, UInt8(number % 256)], headers: ["n": "\(number)"], priority: number % 3,
                due: number % 50 == 0 ? .after(.seconds(1000)) : .now, uniqueKey: UniqueKey("key \(number)"))
            _ = try await store.enqueue([message], to: jobs, durability: .processCrash)
        }
        for number in 1...9 {
            let message = NewMessage(payload: [1], group: "g\(number % 2)", expiry: .after(.seconds(5000)))
            _ = try await store.enqueue([message], to: groups, durability: .processCrash)
        }
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 4, lease: .seconds(30)))
        let verdicts: [Verdict] = [.done, .dead(error: "e\0e"), .retry(error: "not yet"), .release]
        _ = try await store.settle(zip(claim.messages, verdicts).map { Settlement($0.lease, $1) })
        _ = try await store.moveCursor(CursorName(stored: "reader"), of: jobs, .place(after: nil, note: "here"))
    }

    /// What anybody can see of a store.
    private func contents(_ store: any MessageStore) async throws -> [String] {
        var query = MessageQuery(limit: Limits.rowsMax, withPayload: true, withAttempts: true)
        query.withPayload = true
        let queues = try await store.status(of: nil).queues
        var cursors: [CursorRecord] = []
        // What was said at them is told of one queue alone.
        for queue in queues { cursors += try await store.status(of: queue.name).cursors }
        return try await store.messages(query).map { record in
            var record = record
            for index in record.attempts.indices {
                record.attempts[index].worker = ""
                // A database has no zero bytes in texts.
                record.attempts[index].error = record.attempts[index].error.replacing("\0", with: "\u{FFFD}")
            }
            return "\(record)"
        } + queues.map { "\($0)" } + cursors.map { "\($0)" }
    }

    @Test func aFileMovesIntoADatabaseAndBack() async throws {
        let file = try await openFile("first.db")
        try await fill(file.storage)
        let database = PenstockStore(try await harness.openStore(), options: .init(time: harness.time))
        let there = StoreCopy(source: "first.db", target: "the database", withLog: true)
        let report = try await file.copy(to: database, there)
        #expect(report.total == 709 && report.sequenceOffset == 0)
        let before = try await contents(file.storage)
        #expect(try await contents(database.storage) == before)
        // It is at work.
        #expect(
            try await database.storage.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))).messages.count
                == 1)
        let again = try await openFile("second.db")
        let back = StoreCopy(source: "the database", target: "second.db", withLog: true)
        await #expect { try await database.copy(to: again, back) } throws: { ($0 as? PenstockError)?.code == .busy }
        try await database.close()

        let reopened = PenstockStore(try await harness.openStore(), options: .init(time: harness.time))
        #expect(try await reopened.copy(to: again, back).total == 709)
        #expect(try await contents(again.storage) == contents(reopened.storage))
        await #expect {
            try await reopened.storage.enqueue([NewMessage(payload: [])], to: jobs, durability: .processCrash)
        } throws: { error in
            (error as? PenstockError)?.message
                == "The queues of the database have moved to second.db; use that store, or open this one again with `penstock copy --cancel --from 'the database'`."
        }
        let told = StoreMove(phase: .moved, source: "the database", target: "second.db")
        #expect(try await reopened.storage.storeMove() == told)
        #expect(try await reopened.storage.status(of: jobs).move == told)
        let found = try await PostgresStore.inspectHealth(url: harness.url).findings.first { $0.kind == .storeMoved }
        #expect(found?.severity == .warning)
        #expect(found?.message.hasPrefix("The queues have moved to second.db: nothing is taken or given here") == true)
        #expect(try await again.storage.storeMove() == nil)
        for store in [file, again, reopened] { try await store.close() }
        let health = try await PenstockStore.inspectHealth(path: folder.file("second.db"), time: harness.time)
        #expect(health.findings.filter { $0.severity != .note }.map(\.message) == [])
    }

    /// Whatever a long random life leaves behind comes through a database and back.
    @Test(arguments: 1...4) func aWholeLifeMoves(_ seed: UInt64) async throws {
        try await RandomLives.compare(seed: seed, steps: 300, InMemoryHarness(), harness, groups: true, rates: true)
        // The processes of that life are gone, and what they had goes back in line.
        let store = try await harness.openStore()
        while true {
            _ = try await store.reclaim()
            if try await store.status(of: nil).queues.allSatisfy({ $0.depths.leased == 0 }) { break }
            harness.time.advance(by: .seconds(3600))
            await Task.yield()
        }
        let source = PenstockStore(store, options: .init(time: harness.time))
        let file = try await openFile("life.db")
        _ = try await source.copy(to: file, StoreCopy(source: "a", target: "b", withLog: true))
        #expect(try await contents(file.storage) == contents(store))
        let other = try PostgresHarness()
        other.time.set(wall: harness.time.now)
        let third = PenstockStore(try await other.openStore(), options: .init(time: other.time))
        _ = try await file.copy(to: third, StoreCopy(source: "b", target: "c", withLog: true))
        #expect(try await contents(third.storage) == contents(store))
        for store in [source, file, third] { try await store.close() }
        let health = try await PenstockStore.inspectHealth(path: folder.file("life.db"), time: harness.time)
        #expect(health.findings.filter { $0.severity != .note }.map(\.kind) == [.storeMoved])
    }

    /// Nobody reads a log by a cursor that holds settings of its queue, so nothing that has ended is left for it.
    @Test func whatHasEndedStaysWhereNobodyReadsTheLog() async throws {
        let store = try await harness.openStore()
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        let settings = CursorName(stored: CursorName.settingsPrefix + "1")
        _ = try await store.moveCursor(settings, of: jobs, .place(after: nil))
        _ = try await store.append([NewMessage(payload: [1])], to: jobs, unless: nil, durability: .processCrash)
        #expect(try await store.copyForecast(withLog: false).map(\.total) == [0])
        _ = try await store.moveCursor(CursorName(stored: "reader"), of: jobs, .place(after: SequenceNumber(0)))
        #expect(try await store.copyForecast(withLog: false).map(\.total) == [1])
        try await store.close()
    }

    /// A process that dies behind any step is followed by one that goes on from there.
    @Test(arguments: 1...16) func nothingComesTwiceAndNothingIsLeftOut(_ steps: Int) async throws {
        struct Dead: Error {}
        let left = Mutex(steps)
        let store = try await harness.openStore(afterStep: {
            if left.withLock({ left in
                left -= 1
                return left == 0
            }) {
                throw Dead()
            }
        })
        try await fill(store)
        let before = try await contents(store)
        let file = try await openFile("target.db")
        let move = StoreCopy(source: "a", target: "b", withLog: true)
        do {
            _ = try await PenstockStore(store).copy(to: file, move)
        } catch is Dead {
            try await harness.crash(store)
            let next = try await harness.openStore()
            _ = try await PenstockStore(next).copy(to: file, move)
            try await next.close()
        }
        #expect(try await contents(file.storage) == before.map { $0.replacing("\0", with: "\u{FFFD}") })
        try await file.close()
    }
}
