import PenstockCore
import PenstockTestKit
import Testing

/// The clocks that tests go by must themselves be right.
@Suite(.timeLimit(.minutes(5))) struct ManualTimeTests {
    @Test func timeOnlyPassesByHand() {
        let time = ManualTime(wall: Timestamp(microseconds: 5))
        #expect(time.now == Timestamp(microseconds: 5))
        let boot = time.boot
        time.advance(by: .seconds(2))
        #expect(time.now == Timestamp(microseconds: 2_000_005))
        #expect(time.boot == BootTime(bootID: boot.bootID, microseconds: boot.microseconds + 2_000_000))
        time.advance(to: Timestamp(microseconds: 3_000_005))
        #expect(time.boot.microseconds == boot.microseconds + 3_000_000)
        time.advance(to: Timestamp(microseconds: 1))
        #expect(time.now == Timestamp(microseconds: 3_000_005), "Never backwards.")
    }

    @Test func settingTheWallClockLeavesTheBootClock() {
        let time = ManualTime()
        let boot = time.boot
        time.set(wall: Timestamp(microseconds: 1))
        #expect(time.now == Timestamp(microseconds: 1))
        #expect(time.boot == boot)
    }

    @Test func aRebootStartsAnotherBootClock() {
        let time = ManualTime()
        let (now, boot) = (time.now, time.boot)
        time.reboot(after: .seconds(30))
        #expect(time.now == now + .seconds(30))
        #expect(time.boot.bootID != boot.bootID)
        #expect(time.boot.microseconds == 0)
    }

    @Test func sleepersWakeAtTheirDeadlineAndNotBefore() async throws {
        let time = ManualTime()
        let start = time.now
        let (early, late) = (Tally(), Tally())
        async let first: Void = {
            try await time.sleep(until: start + .seconds(1))
            early.add()
        }()
        async let second: Void = {
            try await time.sleep(until: start + .seconds(2))
            late.add()
        }()
        try await time.waitForSleepers(count: 2)
        #expect(time.nextDeadline == start + .seconds(1))
        time.advance(by: .seconds(1) - .microseconds(1))
        #expect(time.sleeperCount == 2)
        time.advance(by: .microseconds(1))
        #expect(time.sleeperCount == 1)
        try await first
        #expect((early.count, late.count) == (1, 0))
        #expect(time.advanceToNextDeadline())
        #expect(time.now == start + .seconds(2))
        try await second
        #expect(late.count == 1)
        #expect(!time.advanceToNextDeadline(), "Nobody sleeps.")
        #expect(time.now == start + .seconds(2))
    }

    @Test func settingTheClockWakesEverySleeper() async throws {
        let time = ManualTime()
        for change in [{ time.set(wall: time.now - .seconds(60)) }, { time.reboot() }] {
            async let sleep: Void = time.sleep(until: time.now + .seconds(3600))
            try await time.waitForSleepers()
            change()
            try await sleep
        }
    }

    @Test func aPastDeadlineIsNotWaitedFor() async throws {
        let time = ManualTime()
        try await time.sleep(until: time.now)
        try await time.sleep(until: time.now - .seconds(1))
    }

    @Test func cancelledSleepersAndWatchersThrow() async throws {
        let time = ManualTime()
        let sleeper = Task { try await time.sleep(until: time.now + .seconds(1)) }
        let watcher = Task { try await time.waitForSleepers(count: 2) }
        try await time.waitForSleepers(count: 1)
        sleeper.cancel()
        watcher.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        await #expect(throws: CancellationError.self) { try await watcher.value }
        #expect(time.sleeperCount == 0)
    }

    @Test func theClockOfStreamsGoesTheSameWay() async throws {
        let clock = ManualClock()
        let tally = Tally()
        async let sleep: Void = {
            try await clock.sleep(for: .seconds(3))
            tally.add()
            try await clock.sleep(for: .seconds(3))
            tally.add()
        }()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        #expect(clock.sleeperCount == 1)
        #expect(clock.advanceToNextDeadline())
        #expect(clock.now == ManualClock.Instant(offset: .seconds(3)))
        try await tally.wait(for: 1)
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline == ManualClock.Instant(offset: .seconds(6)))
        clock.advance(to: ManualClock.Instant(offset: .seconds(60)))
        try await sleep
        #expect(tally.count == 2)
        #expect(clock.now.duration(to: ManualClock.Instant(offset: .seconds(90))) == .seconds(30))
    }

    @Test func anyRangeHasNumbersByChance() {
        let random = SeededRandom(seed: 1)
        for range in [0...Int.max, Int.min...Int.max, Int.min...0, -1...1, 5...5] {
            for _ in 1...100 { #expect(range.contains(random.next(in: range))) }
        }
    }

    @Test func seededNumbersRepeat() {
        let (first, second) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
        let numbers = (0..<100).map { _ in first.next() }
        #expect(numbers == (0..<100).map { _ in second.next() })
        #expect(Set(numbers).count == 100)
        #expect(numbers != (0..<100).map { _ in SeededRandom(seed: 8).next() })
        // The published first numbers of SplitMix64 for the seed 1234567.
        let known = SeededRandom(seed: 1_234_567)
        #expect(known.next() == 6_457_827_717_110_365_317)
        #expect(known.next() == 3_203_168_211_198_807_973)
        #expect((0..<200).allSatisfy { _ in (3...5).contains(first.next(in: 3...5)) })
        #expect(first.pick([Int]()) == nil)
    }
}
