import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A copy that somebody gives up while another process carries it out. At no time are both stores open.
@Suite(.timeLimit(.minutes(5))) struct CancelledCopyTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    private func fill() async throws {
        let store = try await open(source)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        for _ in 1...3 {
            let messages = (1...500).map { NewMessage.text("\($0)") }
            _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        }
        try await store.close()
    }

    /// Whoever cancels it is told that the source takes messages again, and that has to be true of no other store.
    @Test func aCopyThatIsCancelledAtAnyStepOpensNothing() async throws {
        try await fill()
        var steps = 0
        while true {
            steps += 1
            let left = Countdown(steps)
            let other = try await open(source)
            let into = try await open(target)
            let from = try await open(
                source,
                afterStep: {
                    do { try left.step() } catch {
                        left.set(.max)
                        // Once it may be about to open, the target has to be named.
                        let isMoved = try await other.status(of: nil).move?.phase == .moved
                        _ = try await other.cancelCopy(into: isMoved ? into : nil)
                        try await other.put(.text("open"))
                    }
                })
            let result: Result<CopyReport, any Error>
            do { result = .success(try await from.copy(to: into, move) { _ in }) } catch { result = .failure(error) }
            let isLeft = try await other.status(of: nil).move?.phase == .moved
            for store in [other, from] { try await store.close() }
            if case .success = result {
                #expect(isLeft && steps > 5)
                try await into.close()
                break
            }
            #expect((result.failure as? PenstockError)?.code == .illegalTransition, "step \(steps)")
            #expect(try await into.status(of: nil).queues.allSatisfy(\.isDeleting), "step \(steps)")
            let again = try await open(source)
            try await again.cancelCopy(into: into)
            try await again.close()
            try await into.close()
        }
        #expect(try await findings(target) == [])
    }

    /// The copy has looked at the source for the last time, and is about to open the target: nothing would hold it.
    @Test func nobodyOpensTheSourceWhileTheTargetMayBeAboutToOpen() async throws {
        try await fill()
        let other = try await open(source)
        let refusals = Countdown(.max)
        let from = try await open(
            source,
            afterStep: {
                guard try await other.status(of: nil).move?.phase == .moved else { return }
                let error = await expect(.illegalTransition) { try await other.cancelCopy(into: nil) }
                #expect(error?.message.contains("cancel it with `--to` and that store") == true)
                await expect(.storeMoved) { try await other.put(.text("open")) }
                try refusals.step()
            })
        let into = try await open(target)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1500)
        #expect(refusals.count == 1)
        // Nor does anybody once it is open, but where its queues are gone or whoever says so.
        await expect(.illegalTransition) { try await other.cancelCopy(into: nil) }
        await expect(.illegalTransition) { try await other.cancelCopy(into: into) }
        try await into.configure(.jobs, .delete(force: true))
        #expect(try await other.cancelCopy(into: into) == "target.db")
        try await other.put(.text("open"))
        #expect(try await from.copy(to: into, move) { _ in }.total == 1501)
        #expect(try await other.cancelCopy(into: nil, force: true) == "target.db")
        try await other.put(.text("open"))
        for store in [other, from, into] { try await store.close() }
    }

    /// Whatever the one that cancels dies of, the source is closed until nothing can open in the target.
    @Test(arguments: 1...2) func aCancellingThatIsInterruptedIsMadeAgain(_ steps: Int) async throws {
        try await fill()
        let other = try await open(source)
        let from = try await open(
            source,
            afterStep: {
                if try await other.status(of: nil).move?.phase == .moved { throw Countdown.Over() }
            })
        let into = try await open(target)
        await #expect(throws: Countdown.Over.self) { _ = try await from.copy(to: into, move) { _ in } }
        let left = Countdown(steps)
        let dying = try await open(source, afterStep: { try left.step() })
        await #expect(throws: Countdown.Over.self) { _ = try await dying.cancelCopy(into: into) }
        #expect(try await into.status(of: nil).queues == [])
        if steps == 1 {
            await expect(.storeMoved) { try await other.put(.text("closed")) }
            await expect(.unknownQueue) { try await other.copy(to: into, move) { _ in } }
        }
        try await other.cancelCopy(into: into)
        try await other.put(.text("open"))
        #expect(try await other.copy(to: into, move) { _ in }.total == 1501)
        for store in [other, from, dying, into] { try await store.close() }
        #expect(try await SQLiteShell(path: target).run("SELECT count(*) FROM penstock_arrival").output == "1\n")
        #expect(try await findings(target) == [])
    }

    @Test func aMoveThatIsCancelledWhileItWaitsForWorkersIsNotBegunAnew() async throws {
        try await fill()
        let worker = try await open(source)
        #expect(try await worker.take().count == 1)
        let (from, into) = (try await open(source), try await open(target))
        let patient = StoreCopy(source: "source.db", target: "target.db", wait: .seconds(60))
        async let failure = expect(.illegalTransition) { try await from.copy(to: into, patient) { _ in } }
        try await time.waitForSleepers()
        try await worker.cancelCopy(into: nil)
        time.advance(by: .milliseconds(100))
        #expect(await failure != nil)
        try await worker.put(.text("open"))
        for store in [worker, from, into] { try await store.close() }
    }

    /// The process that waited for workers died, and nothing opens the store but a word of its people.
    @Test func whoFindsAStoreThatWaitsForItsWorkersHearsThatItIsClosed() async throws {
        try await fill()
        let worker = try await open(source)
        #expect(try await worker.take().count == 1)
        let (from, into) = (try await open(source), try await open(target))
        let patient = StoreCopy(source: "source.db", target: "target.db", wait: .seconds(60))
        let waiting = Task { try await from.copy(to: into, patient) { _ in } }
        try await time.waitForSleepers()
        waiting.cancel()
        _ = await waiting.result
        let error = await expect(.busy) { try await worker.copy(to: into, move) { _ in } }
        #expect(error?.message.contains("since a copy with --wait was begun") == true)
        await expect(.storeMoved) { try await worker.put(.text("closed")) }
        try await worker.cancelCopy(into: nil)
        for store in [worker, from, into] { try await store.close() }
    }

    /// The log would be left out in silence, and the file is removed when all is well.
    @Test func aCopyThatWasBegunWithoutTheLogDoesNotGoOnWithIt() async throws {
        try await fill()
        let left = Countdown(3)
        let (from, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
        await #expect(throws: Countdown.Over.self) { _ = try await from.copy(to: into, move) { _ in } }
        left.set(.max)
        let withLog = StoreCopy(source: "source.db", target: "target.db", withLog: true)
        let error = await expect(.invalidInput) { try await from.copy(to: into, withLog) { _ in } }
        #expect(error?.message.contains("begun without the log") == true)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1500)
        for store in [from, into] { try await store.close() }
    }

    /// Whoever gives the move up removes what has come first: a crash behind that leaves a source that nobody has the messages of.
    @Test func aTargetThatKnowsNothingOfTheMoveIsNotTakenForFinished() async throws {
        try await fill()
        let (from, into) = (try await open(source), try await open(target))
        _ = try await from.copy(to: into, move) { _ in }
        let left = try await from.core.writer.perform(duringMove: .all) { $0.departure?.moveID }
        let moveID = try #require(left)
        try await into.configure(.jobs, .delete(force: true))
        try await into.core.writer.perform { try Arriving.forget(moveID, in: $0) }
        await expect(.illegalTransition) { _ = try await from.copy(to: into, move) { _ in } }
        // As the sentence says.
        #expect(try await from.cancelCopy(into: into) == "target.db")
        #expect(try await from.copy(to: into, move) { _ in }.total == 1500)
        for store in [from, into] { try await store.close() }
    }

    /// A crash between the note in the source and the opening of the target leaves both closed.
    @Test func aMoveThatIsNotedAndNotOpenedGoesOn() async throws {
        try await fill()
        var (rounds, wasNoted) = (0, false)
        while true {
            rounds += 1
            // One step more in each round: the first is that the source is closed.
            let left = Countdown(2)
            let (from, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
            do {
                let report = try await from.copy(to: into, move) { _ in }
                #expect(report.total == 1500 && wasNoted)
                #expect(try await into.take(1).count == 1)
                for store in [from, into] { try await store.close() }
                break
            } catch is Countdown.Over {
                let isMoved = try await from.status(of: nil).move?.phase == .moved
                let isClosed = try await into.status(of: nil).queues.allSatisfy(\.isDeleting)
                #expect(isClosed, "round \(rounds)")
                wasNoted = wasNoted || isMoved
                await from.crash()
                await into.crash()
            }
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
