import PenstockStreams
import PenstockTestKit
import Testing

/// Operators in a row end together: a consumer that waits for the end of the last one has waited for all of them.
@Suite(.timeLimit(.minutes(5))) struct RowEndTests {
    /// An operator that reads ahead: when the one below it is busy, it waits for `source` while nobody waits for it.
    enum Above: CaseIterable {
        case buffer, delay, flatMap, shareReplay, sharedBuffer
    }

    private let source = ManualSource<Int>()
    private let inner = ManualSource<Int>()

    /// The inner sequence has given a value and is asked for the next one, so nobody reads what is above the flatMap.
    @Test(arguments: Above.allCases)
    func aFlatMapEndsWithWhatIsAboveIt(above: Above) async throws {
        switch above {
        case .buffer: try await end(source.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest))
        case .delay: try await end(source.delay(for: .zero, clock: ContinuousClock()))
        case .shareReplay: try await end(source.shareReplay(0))
        case .sharedBuffer:
            try await end(source.shareReplay(0).buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest))
        case .flatMap: try await end(source.flatMap(maxConcurrent: 2) { value in Single { value } })
        }
    }

    private func end(_ above: some AsyncSequence<Int, Broken> & Sendable) async throws {
        source.send(1)
        let result = collect(above.flatMap(maxConcurrent: 1) { [inner] _ in inner })
        inner.send(10)
        try await inner.asks.wait(for: 2)
        try await source.asks.wait(for: 2)
        result.cancel()
        #expect(await result.value == ([10], nil))
        #expect((source.cancellations.count, source.iteratorsGone.count) == (1, 1))
    }

    @Test func aFailureIsToldWhenWhatIsAboveHasEnded() async throws {
        source.send(1)
        let result = collect(
            source.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
                .flatMap(maxConcurrent: 1) { [inner] _ in inner })
        try await inner.asks.wait(for: 1)
        try await source.asks.wait(for: 2)
        inner.fail()
        #expect(await result.value == ([], Broken(name: "broken")))
        #expect(source.iteratorsGone.count == 1)
    }

    /// Takes one of `count` values that `source` sends, and closes the iterator when the source is asked for another.
    private func close(_ iterator: sending some ClosableIterator, afterOneOf count: Int) async throws {
        var iterator = iterator
        for value in 1...count { source.send(value) }
        #expect(try await iterator.next(isolation: nil) as? Int == 1)
        try await source.asks.wait(for: count + 1)
        await iterator.close()
        #expect((source.cancellations.count, source.iteratorsGone.count) == (1, 1))
    }

    /// The inner sequence reads ahead too.
    @Test func aFlatMapEndsWithItsInnerSequences() async throws {
        let outer = ManualSource<Int>()
        outer.send(1)
        let stream = outer.flatMap(maxConcurrent: 1) { [source] _ in
            source.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        }
        // Nobody comes for the second value, and the slot waits with it.
        try await close(stream.makeAsyncIterator(), afterOneOf: 2)
    }

    @Test func aBufferEndsWithWhatIsAboveIt() async throws {
        let stream = source.flatMap(maxConcurrent: 2) { value in Single { value } }
            .buffer(size: 1, prefetch: .keepFull, whenFull: .dropNewest)
        try await close(stream.makeAsyncIterator(), afterOneOf: 3)
    }

    @Test func aDelayEndsWithWhatIsAboveIt() async throws {
        let stream = source.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
            .delay(for: .zero, holding: 1, clock: ContinuousClock())
        try await close(stream.makeAsyncIterator(), afterOneOf: 2)
    }
}
