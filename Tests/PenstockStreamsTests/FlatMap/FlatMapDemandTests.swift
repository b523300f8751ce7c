import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct FlatMapDemandTests {
    let the = FlatMapFixture()

    @Test func nothingIsAskedBeforeTheFirstNext() async throws {
        var iterator = the.flatMap(maxConcurrent: 2).makeAsyncIterator()
        #expect(the.upstream.iteratorsMade.count == 0)
        the.upstream.finish()
        #expect(try await iterator.next() == nil)
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

    @Test func roomForNoneIsRefused() async throws {
        await #expect(processExitsWith: .failure) {
            _ = ManualSource<Int>().flatMap(maxConcurrent: 0) { _ in ManualSource<Int>() }
        }
    }
}
