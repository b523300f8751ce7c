import Penstock
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct StreamGuideTests {
    @Test func theExamplesDoWhatTheySay() async throws {
        let guide = StreamGuide()
        let fixture = Fixture()
        let queue = try await fixture.queue()
        #expect(try await guide.next(after: queue) == 1)
        var thumbnails: [String] = []
        for try await thumbnail in guide.thumbnails(of: AtOnce(1...3), in: queue) { thumbnails.append(thumbnail) }
        #expect(Set(thumbnails) == ["made of 1", "made of 2", "made of 3"])
        #expect(try await guide.next(after: queue) == 4)
        #expect(try await guide.log(AtOnce(1...9), in: queue) == 45)

        try await queue.enqueue(7)
        for try await shipment in guide.shipped(from: queue) {
            #expect(shipment == "made of 7")
            break
        }
        let words = try await fixture.store.queue("words", of: String.self)
        let reminders = guide.reminders(Words(), in: words)
        let reader = Task {
            for try await reminder in reminders { return reminder.payload }; return ""
        }
        try await eventually { try await words.status().depths.scheduled == 1 }
        fixture.time.advance(by: .seconds(3600))
        #expect(try await reader.value == "tea")
    }

    private struct Words: AsyncSequence, Sendable {
        struct Iterator: AsyncIteratorProtocol {
            var word: String? = "tea"

            mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> String? {
                word.take()
            }
        }

        func makeAsyncIterator() -> Iterator {
            Iterator()
        }
    }
}
