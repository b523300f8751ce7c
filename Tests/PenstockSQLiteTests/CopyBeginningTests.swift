import Foundation
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What has to be in order before a copy begins, and what becomes of the source when it does not.
@Suite(.timeLimit(.minutes(5))) struct CopyBeginningTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    private func openBoth() async throws -> (from: SQLiteStore, into: SQLiteStore) {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await from.put(.text("x"))
        return (from, into)
    }

    /// What is left of such a queue is to go, and would be worked where it comes.
    @Test func aQueueThatIsHalfDeletedIsNotCopied() async throws {
        let (from, into) = try await openBoth()
        try await from.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        try await from.put(.text("to go"), to: .mail)
        // A process has died between two steps of the deletion.
        try await ForeignProgram(source).run("UPDATE penstock_queue SET deleting = 1 WHERE name = 'mail'")
        let error = await expect(.queueDeleting) { try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.hasPrefix("The queue 'mail' of source.db is being deleted") == true)
        try await from.put(.text("still open"))
        // As the sentence says.
        try await from.configure(.mail, .delete(force: true))
        #expect(try await from.copy(to: into, move) { _ in }.total == 2)
        for store in [from, into] { try await store.close() }
    }

    /// Nobody stops a worker that is dead, and what it had would be in the way until its lease ends.
    @Test func whatADeadWorkerHadIsCopied() async throws {
        let (from, into) = try await openBoth()
        let doomed = try await open(source)
        #expect(try await doomed.take().count == 1)
        await doomed.crash()
        #expect(try await from.copy(to: into, move) { _ in }.queues.map(\.counts) == [[.ready: 1]])
        #expect(try await into.take().count == 1)
        for store in [from, into] { try await store.close() }
    }

    /// What they have they may work to its end. A lease that could not be extended meanwhile would end, and the message be worked twice.
    @Test func workersGoOnWithWhatTheyHaveWhileACopyWaits() async throws {
        let (from, into) = try await openBoth()
        try await from.put(.text("y"))
        let worker = try await open(source)
        let held = try await worker.take(2)
        #expect(held.count == 2)
        let patient = StoreCopy(source: "source.db", target: "target.db", wait: .seconds(60))
        async let report = from.copy(to: into, patient) { _ in }
        try await time.waitForSleepers()
        #expect(try await worker.status(of: nil).move?.phase == .draining)
        let extensions = held.map { LeaseExtension($0.lease, by: .seconds(300)) }
        #expect(try await worker.extend(extensions) == [.held, .held])
        _ = try await worker.record(
            StepName(stored: "step"), result: [1], on: held[0].lease, extendingBy: nil, durability: .powerLoss)
        let verdicts = [Settlement(held[0].lease, .done), Settlement(held[1].lease, .retry(error: "not yet"))]
        #expect(try await worker.settle(verdicts) == [.settled(.done), .settled(.scheduled)])
        time.advance(by: .milliseconds(100))
        #expect(try await report.queues.map(\.counts) == [[.scheduled: 1]])
        for store in [worker, from, into] { try await store.close() }
    }

    /// Workers that are not through in that time are to go on with what they do.
    @Test func aCopyThatHasWaitedForWorkersInVainOpensTheSourceAgain() async throws {
        let (from, into) = try await openBoth()
        let worker = try await open(source)
        let held = try #require(try await worker.take().first)
        let patient = StoreCopy(source: "source.db", target: "target.db", wait: .seconds(1))
        async let failure = expect(.busy) { try await from.copy(to: into, patient) { _ in } }
        try await time.waitForSleepers()
        await expect(.storeMoved) { try await worker.put(.text("closed")) }
        time.advance(by: .seconds(2))
        #expect(await failure?.message.hasSuffix("The store is open again.") == true)
        #expect(try await worker.status(of: nil).move == nil)
        try await worker.put(.text("open"))
        #expect(try await worker.settle([Settlement(held.lease, .done)]) == [.settled(.done)])
        #expect(try await from.copy(to: into, patient) { _ in }.total == 1)
        for store in [worker, from, into] { try await store.close() }
    }

    /// A source that says wrongly how many numbers it has given would leave the target none to give.
    @Test func numbersThatCannotBeAreNotTakenOver() async throws {
        let (from, into) = try await openBoth()
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        try await into.put(.text("1"), to: .mail)
        for last in [SequenceJump.lastMax, .max] {
            try await ForeignProgram(source).run("UPDATE penstock_state SET last_sequence = \(last)")
            let error = await expect(.corrupt) { try await from.copy(to: into, move) { _ in } }
            #expect(error?.message.hasPrefix("The last sequence number of source.db is \(last)") == true)
        }
        #expect(try await into.put(.text("2"), to: .mail).sequence.rawValue == 2)
        #expect(try await into.status(of: nil).queues.map(\.name) == [.mail])
        for store in [from, into] { try await store.close() }
    }

    /// Both names were looked at before the source was closed, and the target has got the queue since.
    @Test func aQueueThatIsMadeMeanwhileIsSaid() async throws {
        let into = try await open(target)
        let isMade = Mutex(false)
        let from = try await open(
            source,
            afterStep: {
                let wasMade = isMade.withLock { made in
                    defer { made = true }
                    return made
                }
                if !wasMade { try await into.configure(.jobs, .create(QueuePolicy(), ifAbsent: true)) }
            })
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await from.put(.text("x"))
        let error = await expect(.queueExists) { try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.hasPrefix("target.db has a queue called 'jobs' of its own") == true)
        #expect(try await into.put(.text("its own")).sequence.rawValue == 1)
        try await into.configure(.jobs, .delete(force: true))
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        for store in [from, into] { try await store.close() }
    }

    /// `cp` makes a file with the id of the other one, as does a backup that is opened itself. What has come of one of them is not the other's
    /// to remove.
    @Test func aCopyOfAFileLeavesWhatHasComeOfTheOther() async throws {
        let store = try await open(source)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await store.put(.text("x"))
        let id = try await store.storeID()
        try await store.close()
        let twin = folder.file("twin.db")
        try FileManager.default.copyItem(atPath: source, toPath: twin)
        let left = Countdown(3)
        let (one, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
        await #expect(throws: Countdown.Over.self) { _ = try await one.copy(to: into, move) { _ in } }

        let other = try await open(twin)
        #expect(try await other.storeID() == id && id != nil)
        let copy = StoreCopy(source: "twin.db", target: "target.db")
        let foreseen = await expect(.queueExists) { try await other.refuseCopy(into: into, copy) }
        let refused = await expect(.queueExists) { try await other.copy(to: into, copy) { _ in } }
        #expect(refused?.message.hasPrefix("target.db has queues of an unfinished copy of source.db") == true)
        #expect(foreseen?.message == refused?.message)
        try await other.put(.text("still open"))

        left.set(.max)
        #expect(try await one.copy(to: into, move) { _ in }.total == 1)
        for store in [one, other, into] { try await store.close() }
    }

    /// What a file has brought that has another name by now goes once that is asked for.
    @Test func whatHasComeOfAnotherNameIsRemovedByWhoeverSaysSo() async throws {
        let (from, into) = try await openBoth()
        try await from.close()
        let left = Countdown(3)
        let doomed = try await open(source, afterStep: { try left.step() })
        await #expect(throws: Countdown.Over.self) { _ = try await doomed.copy(to: into, move) { _ in } }
        await doomed.crash()
        let again = try await open(source)
        try await again.cancelCopy(into: nil)
        let renamed = StoreCopy(source: "renamed.db", target: "target.db")
        let refused = await expect(.queueExists) { try await again.copy(to: into, renamed) { _ in } }
        #expect(refused?.message.contains("`penstock copy --cancel --from renamed.db` and `--to`") == true)
        // As the sentence says.
        try await again.cancelCopy(into: into)
        #expect(try await again.copy(to: into, renamed) { _ in }.total == 1)
        for store in [again, into] { try await store.close() }
    }
}
