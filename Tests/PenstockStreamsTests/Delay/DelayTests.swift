import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct DelayTests {
    typealias Source = ManualSource<Int>

    let source = Source()
    let clock = ManualClock()
    let executor = IdleExecutor(isSerial: false)

    /// Reads with the moments of arrival, and then the moment of the end. Each element is worked on for `work` seconds.
    private func read(
        _ sequence: some AsyncSequence<Int, Broken> & Sendable, work: Int = 0
    ) -> Task<[String], Never> {
        Task(executorPreference: executor) { [clock] in
            var seen: [String] = []
            func now() -> Int64 { clock.now.offset.components.seconds }
            do throws(Broken) {
                for try await value in sequence {
                    seen.append("\(value) at \(now())")
                    if work > 0 { try? await clock.sleep(for: .seconds(work)) }
                }
                seen.append("end at \(now())")
            } catch {
                seen.append("\(error.name) at \(now())")
            }
            return seen
        }
    }

    private func at(_ seconds: Int, _ act: () -> Void) async {
        await executor.run(clock, to: .init(offset: .seconds(seconds)))
        act()
    }

    @Test func valuesAndTheFinishMoveAndTheSubscriptionDoesNot() async {
        let reading = read(source.delay(for: .seconds(3), clock: clock))
        await executor.waitUntilIdle()
        #expect(source.asks.count == 1)
        await at(1) { source.send(1) }
        await at(2) { source.send(2) }
        await at(5) { source.send(3) }
        await at(6) { source.finish() }
        await executor.run(clock)
        #expect(await reading.value == ["1 at 4", "2 at 5", "3 at 8", "end at 9"])
    }

    @Test func aFailureDoesNotMove() async {
        let reading = read(source.delay(for: .seconds(3), clock: clock))
        await at(1) { source.send(1) }
        await at(3) { source.send(2) }
        await at(5) { source.fail() }
        await executor.run(clock)
        #expect(await reading.value == ["1 at 4", "broken at 5"])
    }

    @Test func aBusyConsumerGetsThemInOrderWhenItAsks() async {
        let reading = read(source.delay(for: .seconds(1), clock: clock), work: 2)
        for value in 1...3 { source.send(value) }
        source.finish()
        await executor.run(clock)
        #expect(await reading.value == ["1 at 1", "2 at 3", "3 at 5", "end at 7"])
    }

    @Test func nothingToWaitForIsGivenAtOnce() async {
        let reading = read(source.delay(for: .zero, clock: clock))
        for value in 1...3 { source.send(value) }
        source.finish()
        #expect(await reading.value == ["1 at 0", "2 at 0", "3 at 0", "end at 0"])
    }

    @Test func noMoreAreHeldThanMayBe() async {
        let reading = read(source.delay(for: .seconds(2), holding: 2, clock: clock))
        for value in 1...5 { source.send(value) }
        source.finish()
        await executor.waitUntilIdle()
        #expect(source.asks.count == 2)
        await executor.run(clock, to: .init(offset: .seconds(2)))
        #expect(source.asks.count == 4)
        await executor.run(clock)
        #expect(await reading.value == ["1 at 2", "2 at 2", "3 at 4", "4 at 4", "5 at 6", "end at 6"])
    }

    /// Its consumer would wait for ever.
    @Test func aDelayNeedsRoomForOne() async {
        await #expect(processExitsWith: .failure) {
            _ = ManualSource<Int>().delay(for: .seconds(1), holding: 0, clock: ManualClock())
        }
    }

    @Test func aSubjectIsAskedForAllThatMayBeHeld() async {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        let reading = read(subject.delay(for: .seconds(1), holding: 3, clock: clock))
        await executor.waitUntilIdle()
        for value in 1...5 { #expect(subject.send(value) == (value <= 3 ? 1 : 0)) }
        await at(1) { #expect(subject.send(6) == 1) }
        subject.finish()
        await executor.run(clock)
        #expect(await reading.value == ["1 at 1", "2 at 1", "3 at 1", "6 at 2", "end at 2"])
    }

    @Test func cancellingTheConsumerEndsEverythingBeforeItReturns() async {
        let reading = read(source.delay(for: .seconds(9), clock: clock))
        source.send(1)
        await executor.waitUntilIdle()
        #expect(clock.sleeperCount == 1)
        reading.cancel()
        #expect(await reading.value == ["end at 0"])
        #expect(clock.sleeperCount == 0)
        #expect(source.cancellations.count == 1)
        #expect(source.iteratorsGone.count == 1)
    }

    @Test func valuesAreLetGoWithTheStream() async throws {
        let made = Tally()
        let gone = Tally()
        let source = ManualSource<Witness>()
        let delayed = source.delay(for: .seconds(1), clock: clock)
        for _ in 1...5 { source.send(Witness(made: made, gone: gone)) }
        let reading = Task(executorPreference: executor) {
            var iterator = delayed.makeAsyncIterator()
            return try await iterator.next(isolation: nil) == nil
        }
        await executor.waitUntilIdle()
        #expect(gone.count == 0)
        reading.cancel()
        #expect(try await reading.value)
        try await gone.wait(for: 5)
        #expect(made.count == 5)
    }

    @Test func tenThousandRacesOfBeginningAndCancelling() async throws {
        let made = Tally()
        let gone = Tally()
        let source = Counted(Numbers(0..<9), made: made, gone: gone)
        try await raceCancellations(source, made: made, gone: gone) { $0.delay(for: .zero, holding: 2, clock: clock) }
    }

    @Test func tenThousandRacesOfSleepingAndCancelling() async throws {
        let made = Tally()
        let gone = Tally()
        let source = Counted(Numbers(0..<9), made: made, gone: gone)
        // Nobody moves the clock, so a reader of the first element sleeps until it is cancelled.
        try await raceCancellations(source, made: made, gone: gone) {
            $0.delay(for: .seconds(1), holding: 2, clock: clock)
        }
        #expect(clock.sleeperCount == 0)
    }
}
