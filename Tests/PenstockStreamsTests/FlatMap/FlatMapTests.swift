import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct FlatMapTests {
    typealias Source = ManualSource<Int>

    /// An upstream whose elements name the inner sources, and those sources.
    struct Fixture: Sendable {
        let upstream = Source()
        let inner: [Source] = (0..<8).map { _ in Source() }

        func flatMap(maxConcurrent: Int) -> FlatMapSequence<Source, Source, Source.Failure> {
            let inner = inner
            return upstream.flatMap(maxConcurrent: maxConcurrent) { inner[$0] }
        }
    }

    let the = Fixture()

    /// Reads the sequence to its end in a task of its own, counting what came.
    private func collect<Failure: Error>(
        _ sequence: some AsyncSequence<Int, Failure> & Sendable, _ came: Tally = Tally()
    ) -> Task<(values: [Int], failure: Failure?), Never> {
        Task {
            var values: [Int] = []
            do throws(Failure) {
                var iterator = sequence.makeAsyncIterator()
                while let value = try await iterator.next(isolation: nil) {
                    values.append(value)
                    came.add()
                }
                return (values, nil)
            } catch {
                return (values, error)
            }
        }
    }

    // MARK: Demand

    @Test func nothingIsAskedBeforeTheFirstNext() async throws {
        var iterator = the.flatMap(maxConcurrent: 2).makeAsyncIterator()
        #expect(the.upstream.iteratorsMade.count == 0)
        the.upstream.finish()
        #expect(try await iterator.next() == nil)
        #expect(the.upstream.asks.count == 1)
    }

    @Test(arguments: [1, 2, 5])
    func asksForAsManyAsMayRunAndForOneMoreWhenOneFinishes(maxConcurrent: Int) async throws {
        let result = collect(the.flatMap(maxConcurrent: maxConcurrent))
        for number in 0..<8 { the.upstream.send(number) }
        the.upstream.finish()
        for number in 0..<maxConcurrent { try await the.inner[number].asks.wait(for: 1) }
        #expect(the.upstream.asks.count == maxConcurrent)

        for number in 0..<(8 - maxConcurrent) {
            the.inner[number].finish()
            try await the.inner[number + maxConcurrent].asks.wait(for: 1)
            #expect(the.upstream.asks.count == maxConcurrent + number + 1)
            #expect(the.inner[number].iteratorsGone.count == 1)
        }
        for number in (8 - maxConcurrent)..<8 { the.inner[number].finish() }
        #expect(await result.value == ([], nil))
        #expect(the.upstream.asks.count == 9)
    }

    @Test func anInnerSequenceIsReadOneValueAheadAtMost() async throws {
        var iterator = the.flatMap(maxConcurrent: 2).makeAsyncIterator()
        the.upstream.send(0)
        for value in 1...5 { the.inner[0].send(value) }

        #expect(try await iterator.next() == 1)
        try await the.inner[0].asks.wait(for: 2)
        // The second value waits; that the third is not asked for shows when the second is taken.
        for taken in 2...4 {
            #expect(the.inner[0].asks.count <= taken)
            #expect(try await iterator.next() == taken)
            try await the.inner[0].asks.wait(for: taken + 1)
            #expect(the.inner[0].asks.count == taken + 1)
        }
    }

    // MARK: Values

    @Test func valuesComeOutAsTheyArrive() async throws {
        let came = Tally()
        let result = collect(the.flatMap(maxConcurrent: 2), came)
        the.upstream.send(0)
        the.upstream.send(1)
        the.upstream.finish()
        for (count, (source, value)) in [(0, 10), (1, 20), (1, 21), (0, 11), (1, 22)].enumerated() {
            the.inner[source].send(value)
            try await came.wait(for: count + 1)
        }
        the.inner[0].finish()
        the.inner[1].finish()
        #expect(await result.value == ([10, 20, 21, 11, 22], nil))
    }

    @Test func everyValueOnceAndInTheOrderOfItsSequence() async throws {
        let numbers = Numbers(0..<200)
        var last: [Int: Int] = [:]
        var count = 0
        for await value in numbers.flatMap(maxConcurrent: 7, { outer in Numbers(outer * 100..<outer * 100 + 50) }) {
            let outer = value / 100
            #expect(value == (last[outer].map { $0 + 1 } ?? outer * 100))
            last[outer] = value
            count += 1
        }
        #expect(count == 200 * 50)
    }

    @Test func workOfOneSecondAtATimeIsDoneInTurn() async throws {
        // Table A's source and sink without the buffer: 1...4 at once, each worked on for a second, one at a time.
        let clock = ManualClock()
        let sink = Mutex<[String]>([])
        let worked = Numbers(1..<5).flatMap(maxConcurrent: 1) { number in
            Single {
                try? await clock.sleep(for: .seconds(1))
                return number
            }
        }
        let reading = Task {
            for await number in worked { sink.withLock { $0.append("\(number) at \(clock.now)") } }
        }
        for _ in 1...4 {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        await reading.value
        let seconds = (1...4).map { "\($0) at \(Duration.seconds($0))" }
        #expect(sink.withLock { $0 } == seconds)
    }

    // MARK: The end

    @Test func finishesWhenUpstreamAndAllInnerSequencesHave() async throws {
        let result = collect(the.flatMap(maxConcurrent: 2))
        the.upstream.send(0)
        the.upstream.finish()
        try await the.inner[0].asks.wait(for: 1)
        try await the.upstream.asks.wait(for: 2)
        the.inner[0].send(1)
        try await the.inner[0].asks.wait(for: 2)
        the.inner[0].finish()
        #expect(await result.value == ([1], nil))
    }

    @Test func nilStaysNil() async throws {
        var iterator = the.flatMap(maxConcurrent: 1).makeAsyncIterator()
        the.upstream.finish()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func upstreamFailureGoesDownAndCancelsInner() async throws {
        let came = Tally()
        let result = collect(the.flatMap(maxConcurrent: 3), came)
        the.upstream.send(0)
        the.upstream.send(1)
        the.inner[0].send(5)
        try await came.wait(for: 1)
        try await the.inner[0].asks.wait(for: 2)
        try await the.inner[1].asks.wait(for: 1)
        the.upstream.fail("upstream")
        #expect(await result.value == ([5], .init(name: "upstream")))
        #expect(the.inner[0].cancellations.count == 1)
        #expect(the.inner[1].cancellations.count == 1)
        #expect(the.inner[0].iteratorsGone.count == 1)
        #expect(the.inner[1].iteratorsGone.count == 1)
    }

    @Test func innerFailureGoesDownAndCancelsTheOthers() async throws {
        let result = collect(the.flatMap(maxConcurrent: 3))
        the.upstream.send(0)
        the.upstream.send(1)
        try await the.upstream.asks.wait(for: 3)
        try await the.inner[0].asks.wait(for: 1)
        try await the.inner[1].asks.wait(for: 1)
        the.inner[1].fail("inner")
        #expect(await result.value == ([], .init(name: "inner")))
        #expect(the.upstream.cancellations.count == 1)
        #expect(the.inner[0].cancellations.count == 1)
        #expect(the.upstream.iteratorsGone.count == 1)
    }

    @Test func aFailureOvertakesValuesThatWait() async throws {
        var iterator = the.flatMap(maxConcurrent: 2).makeAsyncIterator()
        the.upstream.send(0)
        the.inner[0].send(1)
        the.inner[0].send(2)
        #expect(try await iterator.next() == 1)
        try await the.inner[0].asks.wait(for: 2)
        try await the.upstream.asks.wait(for: 2)
        the.upstream.fail()
        try await the.upstream.iteratorsGone.wait(for: 1)
        await #expect(throws: Source.Broken()) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(the.inner[0].iteratorsGone.count == 1)
    }

    // MARK: Cancelling

    @Test func cancellingTheConsumerEndsEverythingBeforeItReturns() async throws {
        let result = collect(the.flatMap(maxConcurrent: 3))
        the.upstream.send(0)
        the.upstream.send(1)
        try await the.upstream.asks.wait(for: 3)
        try await the.inner[0].asks.wait(for: 1)
        try await the.inner[1].asks.wait(for: 1)
        result.cancel()
        #expect(await result.value == ([], nil))
        for source in [the.upstream, the.inner[0], the.inner[1]] {
            #expect(source.cancellations.count == 1)
            #expect(source.iteratorsGone.count == 1)
        }
    }

    @Test func cancelledBeforeTheFirstNextReadsNothing() async throws {
        let sequence = the.flatMap(maxConcurrent: 1)
        let result = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = sequence.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(try await result.value == nil)
        #expect(the.upstream.iteratorsMade.count == 0)
    }

    @Test func lettingTheIteratorGoEndsEverything() async throws {
        try await readOneAndLetGo()
        for source in [the.upstream, the.inner[0], the.inner[1]] {
            try await source.iteratorsGone.wait(for: 1)
            #expect(source.iteratorsMade.count == 1)
        }
    }

    private func readOneAndLetGo() async throws {
        var iterator = the.flatMap(maxConcurrent: 3).makeAsyncIterator()
        the.upstream.send(0)
        the.upstream.send(1)
        the.inner[0].send(1)
        the.inner[0].send(2)
        #expect(try await iterator.next() == 1)
        // One waits with a value, one waits for a value, and upstream waits for an element.
        try await the.inner[0].asks.wait(for: 2)
        try await the.inner[1].asks.wait(for: 1)
        try await the.upstream.asks.wait(for: 3)
    }

    @Test func anIteratorThatNeverReadIsLetGo() {
        _ = the.flatMap(maxConcurrent: 1).makeAsyncIterator()
        #expect(the.upstream.iteratorsMade.count == 0)
    }

    @Test func valuesAreLetGoWithTheStream() async throws {
        let made = Tally()
        let gone = Tally()
        let source = ManualSource<Witness>()
        func readOne() async throws {
            let upstream = Numbers(0..<1)
            var iterator = upstream.flatMap(maxConcurrent: 1) { _ in source }.makeAsyncIterator()
            for _ in 1...2 { source.send(Witness(made: made, gone: gone)) }
            _ = try await iterator.next()
            try await source.asks.wait(for: 2)
        }
        try await readOne()
        try await gone.wait(for: 2)
        #expect(made.count == 2)
    }

    @Test(arguments: 0..<40)
    func aStormOfCancellations(seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let gone = Tally()
        let made = Tally()
        let storm = (0..<8).map { _ in
            let size = random.next(in: 1...6)
            let taken = random.next(in: 0...60)
            return Task {
                let worked = Numbers(0..<40).flatMap(maxConcurrent: size) { outer in
                    Counted(Numbers(0..<outer), made: made, gone: gone)
                }
                var count = 0
                for await _ in worked {
                    count += 1
                    if count == taken { return }
                }
            }
        }
        for task in storm where random.chance(0.7) {
            if random.chance(0.5) { await Task.yield() }
            task.cancel()
        }
        for task in storm { await task.value }
        // Iterators that were let go end after their reader; each must.
        try await gone.wait(for: made.count)
    }

    @Test func roomForNoneIsRefused() async throws {
        await #expect(processExitsWith: .failure) {
            _ = ManualSource<Int>().flatMap(maxConcurrent: 0) { _ in ManualSource<Int>() }
        }
    }
}

/// Says when it is made and gone.
final class Witness: Sendable {
    let gone: Tally

    init(made: Tally, gone: Tally) {
        self.gone = gone
        made.add()
    }

    deinit {
        gone.add()
    }
}
