import PenstockStreams
import PenstockTestKit
import Testing

/// What the guides of PenstockStreams show does what it says. A test of PenstockDocsTests holds the guides against it.
@Suite struct GuideTests {
    @Test func theExamplesDoWhatTheySay() async throws {
        let guides = Guides()
        #expect(await guides.titles(of: AtOnce([1, 2, 3])).sorted() == ["page 1", "page 2", "page 3"])
        let lost = Tally()
        #expect(await guides.latest(of: AtOnce(Array(1...90)), lost: lost) == Array(1...90))
        #expect(lost.count == 0)
        #expect(!guides.ring(AsyncPassthroughSubject()))
        var temperatures = guides.thermometer().makeAsyncIterator()
        #expect(await temperatures.next() == 21.5)
        let lines = AsyncReplaySubject<String, Never>(bufferSize: 2)
        try await guides.record(["a", "b", "c"], by: lines)
        var remembered = lines.makeAsyncIterator()
        #expect(await remembered.next() == "b")
        let (highest, final) = await guides.highestAndLast(of: AtOnce([3, 9, 4]))
        #expect(highest == 9)
        #expect(final == 4)
    }
}
