import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// The small parts that wait.
@Suite(.timeLimit(.minutes(5))) struct WaitingTests {
    // MARK: Latch

    @Test func aLatchOpensForAllAndStaysOpen() async throws {
        let latch = Latch()
        async let one: Void = latch.wait()
        async let two: Void = latch.wait()
        #expect(!latch.isOpen)
        latch.open()
        latch.open()
        _ = try await (one, two)
        try await latch.wait()
        #expect(latch.isOpen)
    }

    @Test func aWaitForALatchIsCancelled() async throws {
        let latch = Latch()
        let waiter = Task { try await latch.wait() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        latch.open()
    }

    // MARK: The first of several

    @Test func theFirstOneEndsTheOthers() async throws {
        let never = Latch()
        let cancelled = Tally()
        try await firstOf([
            {},
            {
                do { try await never.wait() } catch { cancelled.add() }
            },
        ])
        #expect(cancelled.count == 1)
    }

    @Test func anErrorOfTheFirstIsThrown() async throws {
        let never = Latch()
        await #expect(throws: Reject.self) {
            try await firstOf([{ try await never.wait() }, { throw Reject("no") }])
        }
    }

    // MARK: Sleeping by the boot clock

    @Test func aSleepIsNotShortenedBySettingTheClock() async throws {
        let time = ManualTime()
        let slept = Tally()
        let sleeper = Task {
            try await time.sleep(for: .seconds(10))
            slept.add()
        }
        try await time.waitForSleepers()
        time.set(wall: time.now + .seconds(3600))
        try await time.waitForSleepers()
        #expect(slept.count == 0)
        time.advance(by: .seconds(9))
        #expect(slept.count == 0)
        time.advance(by: .seconds(1))
        try await sleeper.value
    }

    // MARK: Alarm

    @Test func anAlarmCallsAtTheEarliestOfItsTimes() async throws {
        let time = ManualTime()
        let (calls, call) = AsyncStream.makeStream(of: Void.self)
        let alarm = Alarm(time) { call.yield() }
        var called = calls.makeAsyncIterator()
        alarm.set(to: time.boot + .seconds(10))
        alarm.set(to: time.boot + .seconds(20))
        try await time.waitForSleepers()
        alarm.set(to: time.boot + .seconds(5))
        try await time.waitForSleepers()
        time.advance(by: .seconds(5))
        await called.next()
        alarm.set(to: time.boot + .seconds(1))
        try await time.waitForSleepers()
        time.advance(by: .seconds(1))
        await called.next()
    }

    @Test func anAlarmThatIsStoppedDoesNotCall() async throws {
        let time = ManualTime()
        let (calls, call) = AsyncStream.makeStream(of: Int.self)
        let (stopped, other) = (Alarm(time) { call.yield(1) }, Alarm(time) { call.yield(2) })
        stopped.set(to: time.boot + .seconds(1))
        try await time.waitForSleepers()
        stopped.stop()
        other.set(to: time.boot + .seconds(2))
        try await time.waitForSleepers()
        time.advance(by: .seconds(2))
        var called = calls.makeAsyncIterator()
        #expect(await called.next() == 2)
    }

    // MARK: Jobs

    @Test func theFirstEndOfAJobCounts() async {
        let run = HandlerRun(Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1)), leavesByItself: true)
        run.end(.givenUp)
        run.end(.finished)
        guard case .givenUp = await run.ended() else {
            Issue.record("The run ended otherwise.")
            return
        }
    }

    // MARK: The pace of looks for lost work

    @Test func oneTurnInHalfASecond() {
        let time = ManualTime()
        let pace = RateGate(RateGate.reclaimInterval, time: time)
        #expect(pace.tryPass())
        #expect(!pace.tryPass())
        time.advance(by: .milliseconds(499))
        #expect(!pace.tryPass())
        time.advance(by: .milliseconds(1))
        #expect(pace.tryPass())
        time.set(wall: time.now + .seconds(100))
        #expect(!pace.tryPass())
        time.reboot()
        #expect(pace.tryPass())
    }

    /// The clock of a database's server is wall clock and boot clock in one.
    private struct ServerTime: TimeSource {
        let hands: ManualTime

        var now: Timestamp { hands.now }
        var boot: BootTime { BootTime(bootID: "server", microseconds: hands.now.microseconds) }

        func sleep(until deadline: Timestamp) async throws { try await hands.sleep(until: deadline) }
    }

    /// Nobody would look for lost work, or prune, before it shows the same time again.
    @Test func aClockThatIsSetBackKeepsNobodyOut() {
        let hands = ManualTime()
        let pace = RateGate(RateGate.pruneInterval, time: ServerTime(hands: hands))
        #expect(pace.tryPass())
        hands.set(wall: hands.now - .seconds(1200))
        #expect(pace.isDue)
        #expect(pace.tryPass())
        #expect(!pace.tryPass())
        hands.advance(by: RateGate.pruneInterval)
        #expect(pace.tryPass())
    }
}
