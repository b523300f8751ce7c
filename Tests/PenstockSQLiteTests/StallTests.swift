import Foundation
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A store that stalls for longer than leases last takes no message from a worker that lives.
@Suite(.timeLimit(.minutes(5))) struct StallTests {
    private let folder = TemporaryFolder()
    private let time = ManualTime()
    private var path: String { folder.file("queue.db") }
    private var side: SharedFolder { SharedFolder(existingBesideDatabaseAt: path) }

    private func options(busyMax: Duration = .seconds(30)) -> SQLiteStore.Options {
        var options = SQLiteStore.Options(time: time, random: SeededRandom(seed: 7))
        options.busyMax = busyMax
        return options
    }

    /// A worker with one message, whose lease lasts half a minute.
    private func worker() async throws -> (store: SQLiteStore, lease: Lease, file: String) {
        let store = try await SQLiteStore.openWithJobs(path, options: options(busyMax: .milliseconds(50)))
        try await store.put(.text("it"))
        let lease = try #require(try await store.take().first).lease
        let files = try FileManager.default.contentsOfDirectory(atPath: side.path)
        return (store, lease, try #require(files.first { $0.hasPrefix(WorkerLock.prefix) }))
    }

    /// Returns once the worker has said now that it asks for more time.
    private func waitForWord(_ file: String) async throws {
        try await eventually { WorkerLock.sight(of: file, in: side).askedAt == time.boot.microseconds }
    }

    @Test func anExtensionInLineKeepsItsMessage() async throws {
        let (store, lease, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        let held = try await HeldWriter(store, inTransaction: false)
        async let extended = store.extend([lease], by: .seconds(30))
        try await held.waitForCalls(1)
        for _ in 1...40 {
            try await waitForWord(file)
            try await time.waitForSleepers()
            time.advance(by: .seconds(1))
        }
        try await waitForWord(file)
        #expect(try await other.reclaim() == Reclaimed())
        #expect(try await SQLiteStore.inspectHealth(path: path, time: time).expiredLeases == 0)
        #expect(try await other.status(of: nil).workers.map(\.isAlive) == [true])
        try await held.letGo()
        #expect(try await extended == [true])
        #expect(WorkerLock.sight(of: file, in: side).askedAt == nil, "It has its answer, and asks no more.")
        #expect(try await store.settle([Settlement(lease, .done)]) == [.settled(.done)])
        try await store.close()
        try await other.close()
    }

    /// Two readers of one process ask at a time, and the answer of one says nothing of the other's leases.
    @Test func theWordStaysWhileAnyExtensionWaits() async throws {
        let (store, lease, file) = try await worker()
        let identity = store.core.worker
        let answer = Latch()
        let waiting = Task { try await identity.askingForMoreTime { try await answer.wait() } }
        defer { answer.open() }
        try await waitForWord(file)
        #expect(try await store.extend([lease], by: .seconds(30)) == [true])
        try #require(WorkerLock.sight(of: file, in: side).askedAt == time.boot.microseconds)
        // It is said again as before.
        try await time.waitForSleepers()
        time.advance(by: .seconds(1))
        try await waitForWord(file)
        answer.open()
        try await waiting.value
        #expect(WorkerLock.sight(of: file, in: side).askedAt == nil)
        try await store.close()
    }

    /// The store was held by somebody for longer than a call waits. The worker asks again in a moment.
    @Test func anExtensionThatWasToldBusyKeepsItsMessageForAMoment() async throws {
        let (store, lease, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        time.advance(by: .seconds(28))
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE")
        await expect(.busy) { try await store.extend([lease], by: .seconds(30)) }
        try await program.run("COMMIT")
        #expect(WorkerLock.sight(of: file, in: side).askedAt == time.boot.microseconds)
        time.advance(by: .seconds(4))
        #expect(try await other.reclaim() == Reclaimed())
        // It has not asked again: it hangs, or has let go of the message.
        time.advance(by: WorkerStanding.wordHolds - .seconds(4))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
        try await other.close()
    }

    @Test func whoDoesNotAskLosesItsMessageAtTheEnd() async throws {
        let (store, lease, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        #expect(try await store.extend([lease], by: .seconds(30)) == [true])
        #expect(WorkerLock.sight(of: file, in: side).askedAt == nil)
        time.advance(by: .seconds(30))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
        try await other.close()
    }

    @Test(arguments: [Data("rubbish".utf8), Data(repeating: 0xFF, count: 16), Data(repeating: 0x7F, count: 4096)])
    func aWordThatIsNoneChangesNothing(word: Data) async throws {
        let (store, _, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        let handle = try FileHandle(forWritingTo: URL(filePath: side.file(file)))
        try handle.write(contentsOf: word)
        #expect(try await other.reclaim() == Reclaimed())
        time.advance(by: .seconds(30))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
        try await other.close()
    }

    /// A word that is read while it is written, at the moment when it would count.
    @Test func aWordThatIsHalfWrittenIsNone() async throws {
        let (store, _, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        time.advance(by: .seconds(30))
        let now = time.boot.microseconds
        let handle = try FileHandle(forWritingTo: URL(filePath: side.file(file)))
        try handle.write(contentsOf: [now, ~(now - 1)].withUnsafeBytes { Data($0) })
        #expect(WorkerLock.sight(of: file, in: side).askedAt == nil)
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
        try await other.close()
    }

    /// It is written as a worker writes one, by a program that reads another clock.
    @Test func aWordFromTheFutureIsNone() async throws {
        let (store, _, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        let future = (time.boot + .seconds(3600)).microseconds
        store.core.worker.ask(at: future)
        #expect(WorkerLock.sight(of: file, in: side).askedAt == future)
        #expect(try await other.reclaim() == Reclaimed())
        time.advance(by: .seconds(30))
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        try await store.close()
        try await other.close()
    }

    /// It asked, and died.
    @Test func theWordOfADeadWorkerCountsForNothing() async throws {
        let (store, _, file) = try await worker()
        let other = try await SQLiteStore.open(path: path, options: options())
        store.core.worker.ask(at: time.boot.microseconds)
        await store.crash()
        #expect(!WorkerLock.sight(of: file, in: side).isHeld)
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        try await other.close()
    }

    /// The watch sleeps until the word may have ended, and does not look all the time.
    @Test func theEndOfALeaseThatIsAskedAboutIsNotLookedAtAllTheTime() async throws {
        let (store, _, _) = try await worker()
        let poller = ChangePoller(path: path, folder: side, time: time)
        #expect(try poller.look(forTheDead: true).nextEnd == .seconds(30))
        time.advance(by: .seconds(31))
        store.core.worker.ask(at: time.boot.microseconds)
        let seen = try poller.look(forTheDead: true)
        #expect(!seen.hasLostWork)
        #expect(seen.nextEnd == WorkerStanding.wordHolds)
        store.core.worker.ask(at: nil)
        #expect(try poller.look(forTheDead: false).hasLostWork)
        poller.close()
        try await store.close()
    }

    /// The machine was suspended for longer than leases last. All processes go on at once, and the first to look leaves the
    /// living time to ask.
    @Test func aSuspensionTakesNothingFromWorkersThatLive() async throws {
        let (store, lease, _) = try await worker()
        let asleep = Mutex(Duration.zero)
        var options = options()
        options.asleep = { asleep.withLock { $0 } }
        let other = try await SQLiteStore.open(path: path, options: options)
        #expect(try await other.reclaim() == Reclaimed())
        time.advance(by: .seconds(3600))
        asleep.withLock { $0 = .seconds(3600) }
        #expect(try await other.reclaim() == Reclaimed())
        time.advance(by: MachineSuspension.grace - .seconds(1))
        #expect(try await other.reclaim() == Reclaimed())
        #expect(try await store.extend([lease], by: .seconds(30)) == [true])
        time.advance(by: .seconds(2))
        #expect(try await other.reclaim() == Reclaimed())
        #expect(try await store.settle([Settlement(lease, .done)]) == [.settled(.done)])
        try await store.close()
        try await other.close()
    }

    /// A worker that does not ask after the suspension hangs; one that died in it is dead.
    @Test func aSuspensionKeepsNothingForWorkersThatHang() async throws {
        let (store, _, _) = try await worker()
        let asleep = Mutex(Duration.zero)
        var options = options()
        options.asleep = { asleep.withLock { $0 } }
        let other = try await SQLiteStore.open(path: path, options: options)
        time.advance(by: .seconds(3600))
        asleep.withLock { $0 = .seconds(3600) }
        #expect(try await other.reclaim() == Reclaimed())
        time.advance(by: MachineSuspension.grace)
        #expect(try await other.reclaim() == Reclaimed(fromExpiredLeases: 1))
        _ = try await store.take()
        time.advance(by: .seconds(3600))
        asleep.withLock { $0 = .seconds(7200) }
        await store.crash()
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        try await other.close()
    }

    // MARK: Other clocks

    /// A sandbox that hides the boot's name, a time namespace, another boot's name for the same boot.
    @Test func aWorkerWithAnotherClockIsLeftAloneWhileItLives() async throws {
        let (store, lease, _) = try await worker()
        let away = ManualTime()
        away.reboot()
        away.advance(by: .seconds(1_000_000))
        let other = try await SQLiteStore.open(path: path, options: .init(time: away, random: SeededRandom(seed: 8)))
        #expect(try await other.reclaim() == Reclaimed())
        #expect(try await other.status(of: nil).workers.map(\.isAlive) == [true])
        let health = try await SQLiteStore.inspectHealth(path: path, time: away)
        #expect(health.expiredLeases == 0 && health.deadWorkers.isEmpty)
        let poller = ChangePoller(path: path, folder: side, time: away)
        let seen = try poller.look(forTheDead: true)
        #expect(!seen.hasLostWork)
        #expect(seen.nextEnd == nil)
        poller.close()
        #expect(try await store.settle([Settlement(lease, .done)]) == [.settled(.done)])

        try await store.put(.text("more"))
        _ = try await store.take()
        await store.crash()
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        try await other.close()
    }

    // MARK: Many messages

    @Test func manyMessagesAreTakenBackInSteps() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: options())
        let other = try await SQLiteStore.open(path: path, options: options())
        let count = 2 * Reclaiming.stepCount + 1
        _ = try await store.enqueue((1...count).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        while try await store.take(Limits.batchCountMax).count > 0 {}
        await store.crash()
        let commits = CommitCount(other)
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: count))
        #expect(commits.value == 3)
        #expect(try await other.depths().ready == count)
        #expect(try await other.status(of: nil).workers.isEmpty)
        #expect(try await other.reclaim() == Reclaimed())
        try await other.close()
    }
}
