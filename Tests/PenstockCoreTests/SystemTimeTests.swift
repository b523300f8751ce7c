import PenstockCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SystemTimeTests {
    private let time = SystemTime()

    @Test func theWallClockIsInThisCentury() {
        #expect(time.now > Timestamp(microseconds: 1_700_000_000_000_000))
        #expect(time.now < Timestamp(microseconds: 4_000_000_000_000_000))
    }

    @Test func theBootClockGoesOnWithinOneBoot() {
        let first = time.boot
        let second = time.boot
        #expect(first.microseconds > 0)
        #expect(second.microseconds >= first.microseconds)
        #expect(first.bootID == second.bootID)
        #expect(first.bootID == SystemTime().boot.bootID, "Every process of a boot gives it the same name.")
        #expect(!first.bootID.isEmpty)
        #expect(first.bootID != "unknown")
    }

    @Test func aDeadlineThatIsPastIsNotWaitedFor() async throws {
        try await time.sleep(until: time.now - .seconds(1))
        try await time.sleep(until: Timestamp(microseconds: .min))
    }

    @Test func aCancelledSleeperThrows() async {
        let sleeper = Task { try await time.sleep(until: time.now + .seconds(3600)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test func chanceIsFromZeroToOne() {
        let random = SystemRandom()
        let units = (0..<1000).map { _ in random.nextUnit() }
        #expect(units.allSatisfy { (0..<1).contains($0) })
        #expect(Set(units).count > 990)
        #expect((0..<1000).allSatisfy { _ in LeaseToken(random: random).rawValue >= 0 })
    }
}
