import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct FlatMapEndTests {
    let the = FlatMapFixture()

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
        await #expect(throws: Broken()) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(the.inner[0].iteratorsGone.count == 1)
    }
}
