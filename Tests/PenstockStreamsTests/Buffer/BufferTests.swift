import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct BufferTests {
    typealias Source = ManualSource<Int>

    let source = Source()

    @Test func nothingIsAskedBeforeTheFirstNext() async throws {
        var iterator = source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).makeAsyncIterator()
        #expect(source.iteratorsMade.count == 0)
        source.finish()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(source.asks.count == 1)
    }

    @Test func whatWaitsIsGivenBeforeTheFinish() async throws {
        var iterator = source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).makeAsyncIterator()
        for value in 1...4 { source.send(value) }
        source.finish()
        #expect(try await iterator.next() == 1)
        try await source.iteratorsGone.wait(for: 1)
        for value in 2...4 { #expect(try await iterator.next() == value) }
        #expect(try await iterator.next() == nil)
    }

    @Test func aFailureOvertakesWhatWaits() async throws {
        var iterator = source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).makeAsyncIterator()
        for value in 1...4 { source.send(value) }
        source.fail("upstream")
        #expect(try await iterator.next() == 1)
        try await source.iteratorsGone.wait(for: 1)
        await #expect(throws: Broken(name: "upstream")) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test(arguments: [BufferPrefetch.byRequest, .keepFull])
    func discardedValuesAreCounted(prefetch: BufferPrefetch) async throws {
        let dropped = Mutex<[Int]>([])
        let drops = Tally()
        let buffer = source.buffer(size: 2, prefetch: prefetch, whenFull: .dropOldest) { value in
            dropped.withLock { $0.append(value) }
            drops.add()
        }
        var iterator = buffer.makeAsyncIterator()
        for value in 1...6 { source.send(value) }
        #expect(try await iterator.next() == 1)
        if prefetch == .byRequest {
            try await drops.wait(for: 3)
            #expect(dropped.withLock { $0 } == [2, 3, 4])
            #expect(try await iterator.next() == 5)
        } else {
            // Paused by the overflow; upstream is asked again when the consumer takes.
            try await drops.wait(for: 1)
            #expect(dropped.withLock { $0 } == [2])
            #expect(source.asks.count == 4)
            #expect(try await iterator.next() == 3)
            try await drops.wait(for: 2)
            #expect(dropped.withLock { $0 } == [2, 4])
            #expect(source.asks.count == 6)
        }
    }

    @Test func customErrorFailsAtOnceAndCancels() async throws {
        let dropped = Tally()
        let buffer = source.buffer(
            size: 1, prefetch: .byRequest, whenFull: .customError { Broken(name: "overflow") }
        ) { _ in dropped.add() }
        var iterator = buffer.makeAsyncIterator()
        for value in 1...5 { source.send(value) }
        #expect(try await iterator.next() == 1)
        try await source.iteratorsGone.wait(for: 1)
        await #expect(throws: Broken(name: "overflow")) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(dropped.count == 1)
        #expect(source.asks.count == 3)
    }

    @Test func aSourceThatCannotFailMayOverflowWithAnError() async throws {
        let buffer = AtOnce([1, 2, 3]).buffer(
            size: 1, prefetch: .byRequest, whenFull: .customError { Broken(name: "overflow") })
        let executor = IdleExecutor(isSerial: false)
        let hold = Tally()
        let reader = Task(executorPreference: executor) {
            var iterator = buffer.makeAsyncIterator()
            let first = try await iterator.next(isolation: nil)
            try await hold.wait(for: 1)
            await #expect(throws: Broken(name: "overflow")) { try await iterator.next(isolation: nil) }
            return first
        }
        await executor.waitUntilIdle()
        hold.add()
        #expect(try await reader.value == 1)
    }

    @Test func buffersCanFollowEachOther() async {
        // The first asks for as many as the second may take: nothing is lost between them.
        let twice = AtOnce(Array(1...6))
            .buffer(size: 10, prefetch: .byRequest, whenFull: .dropNewest)
            .buffer(size: 10, prefetch: .keepFull, whenFull: .dropNewest)
        var values: [Int] = []
        for await value in twice { values.append(value) }
        #expect(values == Array(1...6))
    }

    @Test func aBufferHasNoFewerThanNoPlaces() async {
        await #expect(processExitsWith: .failure) {
            _ = ManualSource<Int>().buffer(size: -1, prefetch: .keepFull, whenFull: .dropNewest)
        }
    }

    // MARK: Cancelling

    @Test(arguments: [BufferPrefetch.byRequest, .keepFull])
    func cancellingTheConsumerEndsUpstreamBeforeItReturns(prefetch: BufferPrefetch) async throws {
        let came = Tally()
        let result = collect(source.buffer(size: 1, prefetch: prefetch, whenFull: .dropNewest), came)
        source.send(1)
        try await came.wait(for: 1)
        try await source.asks.wait(for: 2)
        result.cancel()
        #expect(await result.value == ([1], nil))
        #expect(source.cancellations.count == 1)
        #expect(source.iteratorsGone.count == 1)
    }

    @Test func aTaskThatIsCancelledIsGivenNothingThatWaits() async throws {
        let buffer = source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest)
        for value in 1...4 { source.send(value) }
        source.finish()
        let reading = Task { [source] in
            var iterator = buffer.makeAsyncIterator()
            let first = try await iterator.next(isolation: nil)
            try await source.iteratorsGone.wait(for: 1)
            withUnsafeCurrentTask { $0?.cancel() }
            return [first, try await iterator.next(isolation: nil)]
        }
        #expect(try await reading.value == [1, nil])
    }

    @Test func lettingTheIteratorGoEndsAPausedUpstream() async throws {
        let drops = Tally()
        func readOne() async throws {
            let buffer = source.buffer(size: 1, prefetch: .keepFull, whenFull: .dropNewest) { _ in drops.add() }
            var iterator = buffer.makeAsyncIterator()
            for value in 1...5 { source.send(value) }
            #expect(try await iterator.next() == 1)
            try await drops.wait(for: 1)
        }
        try await readOne()
        try await source.iteratorsGone.wait(for: 1)
        #expect(source.asks.count == 3)
    }

    @Test func valuesAreLetGoWithTheStream() async throws {
        let made = Tally()
        let gone = Tally()
        let source = ManualSource<Witness>()
        func readOne() async throws {
            var iterator = source.buffer(size: 8, prefetch: .byRequest, whenFull: .dropNewest).makeAsyncIterator()
            for _ in 1...5 { source.send(Witness(made: made, gone: gone)) }
            _ = try await iterator.next()
            try await source.asks.wait(for: 6)
        }
        try await readOne()
        try await gone.wait(for: 5)
        #expect(made.count == 5)
    }

    @Test(arguments: [BufferPrefetch.byRequest, .keepFull])
    func tenThousandRacesOfBeginningAndCancelling(prefetch: BufferPrefetch) async throws {
        let made = Tally()
        let gone = Tally()
        try await raceCancellations(Counted(Numbers(0..<9), made: made, gone: gone), made: made, gone: gone) { source in
            source.buffer(size: 2, prefetch: prefetch, whenFull: .dropOldest)
        }
    }
}
