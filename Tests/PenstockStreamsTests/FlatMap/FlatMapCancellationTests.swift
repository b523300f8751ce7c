import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct FlatMapCancellationTests {
    let the = FlatMapFixture()

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

    @Test func anInnerSequenceThatCancelsItsOwnTaskCancelsNoOther() async {
        let areCancelled = Mutex<[Bool]>([])
        let worked = Numbers(0..<4).flatMap(maxConcurrent: 2) { number in
            Single {
                areCancelled.withLock { $0.append(Task.isCancelled) }
                withUnsafeCurrentTask { $0?.cancel() }
                return number
            }
        }
        #expect(await collect(worked).value.values.sorted() == [0, 1, 2, 3])
        #expect(areCancelled.withLock { $0 } == [false, false, false, false])
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

    @Test func tenThousandRacesOfBeginningAndCancelling() async throws {
        let made = Tally()
        let gone = Tally()
        try await raceCancellations(Counted(Numbers(0..<5), made: made, gone: gone), made: made, gone: gone) { source in
            source.flatMap(maxConcurrent: 2) { Numbers(0..<$0) }
        }
    }
}
