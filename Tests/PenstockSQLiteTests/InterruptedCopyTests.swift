import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a copy leaves in the target when its process dies.
@Suite(.timeLimit(.minutes(5))) struct InterruptedCopyTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    /// Numbers of groups come before the clock that they are on, and a pause after the messages that wait for it. Neither is a fault
    /// of a copy that is under way, and a repair leaves what the next call still has to bring.
    @Test func aCopyThatWasInterruptedIsSoundAndGoesOnAfterARepair() async throws {
        let store = try await open(source)
        let policy = QueuePolicy(groups: .fifo(), ratePerKey: Rate(1, per: .seconds(3600)))
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        for _ in 1...2 {
            let messages = (1...2000).map { NewMessage.text("x", group: "g\($0)") }
            _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        }
        let started = try await store.take(1500)
        _ = try await store.settle(started.map { Settlement($0.lease, .done) })
        try await store.configure(.jobs, .pauseGroup("g1999"))
        try await store.close()
        var steps = 0
        while true {
            steps += 1
            let left = Countdown(steps)
            let from = try await open(source, afterStep: { try left.step() })
            let into = try await open(target)
            do {
                let report = try await from.copy(to: into, move) { _ in }
                #expect(report.queues.map(\.total) == [2500] && steps > 3)
                try await from.close()
                try await into.close()
                break
            } catch is Countdown.Over {
                await from.crash()
                await into.crash()
            }
            #expect(try await findings(target).filter { $0 == .wrongPermits } == [], "step \(steps)")
            // The first step is that the source is closed.
            #expect(try await findings(target).contains(.copyUnfinished) == (steps > 1), "step \(steps)")
            _ = try await SQLiteStore.repair(path: target, time: time)
            #expect(try await findings(target).contains(.copyUnfinished) == (steps > 1), "step \(steps)")
        }
        #expect(try await findings(target) == [])
    }

    /// As when a server goes away.
    @Test func aStoreThatFailsInTheMiddleIsNotToldAsNothingDone() async throws {
        let store = try await open(source)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue((1...700).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        try await store.close()
        let left = Countdown(3)
        let from = try await open(source) {
            do { try left.step() } catch { throw PenstockError(.unreachable, "The server is gone; nothing was done.") }
        }
        let into = try await open(target)
        let error = await #expect(throws: PenstockError.self) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(error?.code == .unreachable)
        #expect(
            error?.message.hasPrefix(
                "The server is gone; nothing more was done. What has come stays, and source.db is closed until the same copy is run again"
            )
                == true)
        try await from.close()
        try await into.close()
    }

    /// Whose turn it is, and what is left to be told of tasks, comes behind the messages. Until then nothing is made up for it, which
    /// would be in the way of what comes.
    @Test func aRepairMakesNothingUpThatIsYetToCome() async throws {
        let doomed = try await open(source)
        try await doomed.configure(.mail, .create(QueuePolicy(isFair: true), ifAbsent: true))
        _ = try await doomed.enqueue((1...700).map { _ in .text("x") }, to: .mail, durability: .processCrash)
        try await doomed.configure(.mail, .set(QueuePolicy()))
        try await doomed.configure(.jobs, .create(QueuePolicy(isFair: true), ifAbsent: true))
        try await doomed.begin(fan(2500))
        try await doomed.work(.done)
        await doomed.crash()
        var steps = 0
        while true {
            steps += 1
            let left = Countdown(steps)
            let from = try await open(source, afterStep: { try left.step() })
            let into = try await open(target)
            do {
                #expect(try await from.copy(to: into, move) { _ in }.total == 3201)
                #expect(steps > 3)
                try await from.close()
                try await into.close()
                break
            } catch is Countdown.Over {
                await from.crash()
                await into.crash()
            }
            // The first step is that the source is closed.
            let expected: [HealthFinding.Kind] = steps > 1 ? [.copyUnfinished] : []
            #expect(try await findings(target) == expected, "step \(steps)")
            #expect(try await SQLiteStore.repair(path: target, time: time).repairs == [], "step \(steps)")
        }
        #expect(try await findings(target) == [])
        let store = try await open(target)
        _ = try await store.reclaim()
        #expect(try await store.counts() == [.done: 1, .ready: 2500])
        try await store.close()
    }

    /// A repair leaves the queues that arrive as they are, and so is no advice.
    @Test func aCopyThatMeetsAContradictionCanBeGivenUp() async throws {
        let left = Countdown(2)
        let from = try await open(source, afterStep: { try left.step() })
        let into = try await open(target)
        try await from.configure(.jobs, .create(QueuePolicy(isFair: true), ifAbsent: true))
        try await from.put(.text("x"))
        // The queue is there, and none of its rows.
        await #expect(throws: Countdown.Over.self) { _ = try await from.copy(to: into, move) { _ in } }
        try await ForeignProgram(target).run("INSERT INTO penstock_fair SELECT queue_id, 0, 1 FROM penstock_arriving")
        let error = await expect(.corrupt) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.contains("`penstock copy --cancel --from source.db`") == true)
        #expect(error?.message.contains("--repair") == false)
        // As the sentence says.
        try await from.cancelCopy(into: into)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        try await from.close()
        try await into.close()
        #expect(try await findings(target) == [])
    }

    /// Whoever reads that the source has moved may remove it, and the batches were not flushed one by one.
    @Test func theSourceHasMovedOnceAllIsOnTheDiskOfTheTarget() async throws {
        let texts = (1...1500).map { "message \($0)" }
        let store = try await open(source)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue(texts.map { .text($0) }, to: .jobs, durability: .processCrash)
        try await store.close()

        let disk = TestDisk(target)
        let into = try await SQLiteStore.open(path: target, options: disk.options)
        let reader = try await open(source)
        let looks = Countdown(.max)
        let from = try await open(
            source,
            afterStep: {
                guard try await reader.status(of: nil).move?.phase == .moved else { return }
                #expect(try disk.textsAfterPowerCut() == Set(texts))
                try looks.step()
            })
        #expect(try await from.copy(to: into, move) { _ in }.total == texts.count)
        #expect(looks.count == 1)
        for store in [from, reader, into] { try await store.close() }
    }

    /// One of that kind is made of a backup that was taken while the source was copied. To open it would take no look at the target.
    @Test func aSourceThatDoesNotKnowThatItHasMovedIsToldByTheNextCall() async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await from.put(.text("x"))
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        try await ForeignProgram(source).run("UPDATE penstock_state SET moving = 'copying'")
        #expect(try await from.copy(to: into, move) { _ in }.wasFinished)
        #expect(try await from.status(of: nil).move?.phase == .moved)
        await expect(.illegalTransition) { try await from.cancelCopy(into: nil) }
        for store in [from, into] { try await store.close() }
    }

    /// A source that is open again after a power cut, while the target is open as well, has each message worked twice.
    @Test func aSourceThatHasMovedIsLeftAfterAPowerCutAsWell() async throws {
        let disk = TestDisk(source)
        let from = try await SQLiteStore.open(path: source, options: disk.options)
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await from.put(.text("x"))
        let into = try await open(target)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        let phase = try disk.readAfterPowerCut { database in
            try String.fetchOne(database, sql: "SELECT moving FROM penstock_state")
        }
        #expect(phase == "moved")
        for store in [from, into] { try await store.close() }
    }
}
