import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShareReplayTests {
    typealias Source = ManualSource<Int>

    let source = Source()
    let executor = IdleExecutor(isSerial: false)

    @Test func nothingIsAskedBeforeTheFirstNext() async throws {
        let shared = source.shareReplay(1)
        var iterator = shared.makeAsyncIterator()
        #expect(shared.subscriberCount == 1)
        #expect(source.iteratorsMade.count == 0)
        source.finish()
        #expect(try await iterator.next() == nil)
        #expect(source.iteratorsMade.count == 1)
    }

    @Test func oneSubscriptionUpstreamForAThousand() async throws {
        let shared = source.shareReplay(2, backlog: .suspendSender(at: 3))
        let readers = (0..<1_000).map { _ in
            Task(executorPreference: executor) {
                var values: [Int] = []
                for try await value in shared { values.append(value) }
                return values
            }
        }
        await executor.waitUntilIdle()
        #expect(shared.subscriberCount == 1_000)
        for value in 1...20 { source.send(value) }
        source.finish()
        for reader in readers { #expect(try await reader.value == Array(1...20)) }
        #expect(source.iteratorsMade.count == 1)
        #expect(source.iteratorsGone.count == 1)
        #expect(shared.subscriberCount == 0)
    }

    @Test func lateSlowAndCancelledSubscribers() async throws {
        let shared = source.shareReplay(2, backlog: .suspendSender(at: 2))
        var slow = shared.makeAsyncIterator()
        for value in 1...9 { source.send(value) }
        #expect(try await slow.next() == 1)
        // 2 and 3 wait for the slow one, and the puller has 4.
        try await source.asks.wait(for: 4)
        var late = shared.makeAsyncIterator()
        for value in 2...3 { #expect(try await late.next() == value) }
        let cancelled = collect(shared)
        cancelled.cancel()
        _ = await cancelled.value
        for value in 2...3 { #expect(try await slow.next() == value) }
        for value in 4...9 {
            #expect(try await late.next() == value)
            #expect(try await slow.next() == value)
        }
        #expect(source.iteratorsMade.count == 1)
    }

    @Test func theLastOneLeavingCancelsUpstreamAndTheMemoryStays() async throws {
        let shared = source.shareReplay(2)
        let came = Tally()
        let first = collect(shared, came)
        for value in 1...3 { source.send(value) }
        try await came.wait(for: 3)
        try await source.asks.wait(for: 4)
        first.cancel()
        #expect(await first.value == ([1, 2, 3], nil))
        // Upstream had ended before the reader was told.
        #expect(source.cancellations.count == 1)
        #expect(source.iteratorsGone.count == 1)

        let second = collect(shared)
        try await source.iteratorsMade.wait(for: 2)
        source.send(4)
        source.finish()
        #expect(await second.value == ([2, 3, 4], nil))
    }

    @Test func whoComesWhileUpstreamStopsReadsItAnewAndWhoLeavesThenIsToldWhenItHas() async throws {
        let source = Stubborn()
        let shared = source.shareReplay(1)
        let leavers = [await reader(of: shared), await reader(of: shared)]
        try await source.asks.wait(for: 1)
        for leaver in leavers { leaver.cancel() }
        #expect(shared.subscriberCount == 0)
        let newcomer = await reader(of: shared)
        let hasty = await reader(of: shared)
        hasty.cancel()
        #expect(shared.subscriberCount == 1)
        #expect(source.asks.count == 1)
        // Of the reading that was cancelled nothing counts.
        source.answer(7)
        for gone in leavers + [hasty] { #expect(await gone.value == []) }
        try await source.asks.wait(for: 2)
        source.answer(8)
        try await source.asks.wait(for: 3)
        source.answer(nil)
        #expect(await newcomer.value == [8])
        #expect(shared.subscriberCount == 0)
    }

    /// A reader of `shared`, once it waits.
    private func reader(of shared: ShareReplaySequence<Stubborn, Never>) async -> Task<[Int], Never> {
        let reader = Task(executorPreference: executor) { await shared.reduce(into: []) { $0.append($1) } }
        await executor.waitUntilIdle()
        return reader
    }

    /// It would be read for nobody, and nobody would be left who could end that.
    @Test func upstreamIsNotReadAnewForThoseWhoHaveLeftMeanwhile() async throws {
        let source = Stubborn()
        let shared = source.shareReplay(1)
        let leaver = await reader(of: shared)
        try await source.asks.wait(for: 1)
        leaver.cancel()
        let newcomer = await reader(of: shared)
        newcomer.cancel()
        #expect(shared.subscriberCount == 0)
        source.answer(7)
        for gone in [leaver, newcomer] { #expect(await gone.value == []) }
        await executor.waitUntilIdle()
        #expect(source.asks.count == 1)
    }

    /// It goes with the subscriber that held it up, and pushes nothing out of the memory.
    @Test func whatUpstreamHasForNobodyIsNotRemembered() async throws {
        let shared = source.shareReplay(1, backlog: .suspendSender(at: 1))
        let hold = Tally()
        for value in 1...4 { source.send(value) }
        let reading = Task(executorPreference: executor) {
            var iterator = shared.makeAsyncIterator()
            let first = try await iterator.next(isolation: nil)
            try await hold.wait(for: 1)
            withExtendedLifetime(iterator) {}
            return first
        }
        // Then 2 waits for the reader, and 3 for room.
        await executor.waitUntilIdle()
        #expect(source.asks.count == 3)
        hold.add()
        #expect(try await reading.value == 1)
        try await source.iteratorsGone.wait(for: 1)
        var iterator = shared.makeAsyncIterator()
        for value in [2, 4] { #expect(try await iterator.next() == value) }
    }

    @Test func oneOfTwoLeavingLeavesUpstreamAlone() async throws {
        let shared = source.shareReplay(0)
        let came = Tally()
        let stays = collect(shared, came)
        let leaves = collect(shared, came)
        try await eventually { shared.subscriberCount == 2 }
        try await source.asks.wait(for: 1)
        leaves.cancel()
        _ = await leaves.value
        #expect(source.cancellations.count == 0)
        source.send(1)
        source.finish()
        #expect(await stays.value == ([1], nil))
    }

    @Test func lettingTheLastIteratorGoCancelsUpstream() async throws {
        func readOne() async throws {
            var iterator = source.shareReplay(1, backlog: .suspendSender(at: 1)).makeAsyncIterator()
            for value in 1...4 { source.send(value) }
            #expect(try await iterator.next() == 1)
            try await source.asks.wait(for: 3)
        }
        try await readOne()
        try await source.iteratorsGone.wait(for: 1)
    }

    @Test func aNewcomerAfterAFailureGetsTheMemoryAndThatFailure() async throws {
        let shared = source.shareReplay(1)
        for value in 1...2 { source.send(value) }
        source.fail()
        #expect(await collect(shared).value == ([1, 2], Broken()))
        #expect(await collect(shared).value == ([2], Broken()))
        #expect(source.iteratorsMade.count == 1)
    }

    @Test func whoFallsBehindLosesTheOldestOrIsEnded() async throws {
        struct Behind: Error, Equatable {}
        let dropped = Mutex<[Int]>([])
        let source = AtOnce(Array(1...5))
        let dropping = source.shareReplay(0, backlog: .dropOldest(at: 2)) { value in
            dropped.withLock { $0.append(value) }
        }
        var lossy = dropping.makeAsyncIterator()
        let all = Task(executorPreference: executor) { await dropping.reduce(0) { count, _ in count + 1 } }
        await executor.waitUntilIdle()
        _ = await all.value
        for value in 4...5 { #expect(await lossy.next() == value) }
        #expect(await lossy.next() == nil)
        #expect(dropped.withLock { $0.filter { $0 <= 3 }.count } >= 3)

        let ending = source.shareReplay(0, backlog: .endSubscriber(at: 2) { Behind() })
        var behind = ending.makeAsyncIterator()
        let other = Task(executorPreference: executor) { try await ending.first { _ in true } }
        await executor.waitUntilIdle()
        #expect(try await other.value == 1)
        for value in 1...2 { #expect(try await behind.next() == value) }
        await #expect(throws: Behind()) { try await behind.next() }
    }

    /// Nobody is left then who could leave.
    @Test func theLastOneFallingBehindCancelsUpstream() async throws {
        let source = ManualSource<Int>()
        let shared = source.shareReplay(0, backlog: .endSubscriber(at: 2) { Broken() })
        func fallBehind(_ first: Int) async throws {
            var iterator = shared.makeAsyncIterator()
            source.send(first)
            #expect(try await iterator.next() == first)
            for value in first + 1...first + 4 { source.send(value) }
            try await source.asks.wait(for: first + 5)
            for value in first + 1...first + 2 { #expect(try await iterator.next() == value) }
            await #expect(throws: Broken.self) { try await iterator.next() }
        }
        try await fallBehind(0)
        try await source.cancellations.wait(for: 1)
        #expect(shared.subscriberCount == 0)
        // The next subscriber has it read anew.
        try await fallBehind(6)
        try await source.cancellations.wait(for: 2)
    }

    @Test func aBurstOfASubjectIsAskedForInAdvance() async {
        let subject = AsyncPassthroughSubject<Int, Never>()
        let shared = subject.shareReplay(0, backlog: .suspendSender(at: 8))
        let reading = Task(executorPreference: executor) {
            await shared.reduce(into: []) { $0.append($1) }
        }
        await executor.waitUntilIdle()
        for value in 1...8 { #expect(subject.send(value) == 1) }
        subject.finish()
        #expect(await reading.value == Array(1...8))
    }

    @Test func valuesAreLetGoWithTheSequence() async throws {
        let made = Tally()
        let gone = Tally()
        let source = ManualSource<Witness>()
        func readOne() async throws {
            var iterator = source.shareReplay(3).makeAsyncIterator()
            for _ in 1...5 { source.send(Witness(made: made, gone: gone)) }
            _ = try await iterator.next()
            try await source.asks.wait(for: 6)
        }
        try await readOne()
        try await gone.wait(for: 5)
        #expect(made.count == 5)
    }

    @Test(arguments: [ReplayBacklog<Never>.suspendSender(at: 2), .dropOldest(at: 2)])
    func tenThousandRacesOfBeginningAndCancelling(backlog: ReplayBacklog<Never>) async throws {
        let made = Tally()
        let gone = Tally()
        let endless = Counted(Numbers(0..<1_000_000_000), made: made, gone: gone)
        let shared = endless.shareReplay(2, backlog: backlog)
        try await raceCancellations(shared, made: made, gone: gone) { $0 }
        #expect(shared.subscriberCount == 0)
    }
}

/// Gives what it is told to, and takes no notice of cancellation.
private final class Stubborn: AsyncSequence, Sendable {
    typealias Element = Int
    let asks = Tally()
    private let asker = Mutex<CheckedContinuation<Int?, Never>?>(nil)

    func answer(_ value: Int?) { asker.withLock { $0.take() }?.resume(returning: value) }

    struct Iterator: AsyncIteratorProtocol {
        let source: Stubborn

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            await withCheckedContinuation { continuation in
                source.asker.withLock { $0 = continuation }
                source.asks.add()
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(source: self) }
}
