import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Calls of which nobody knows whether they took effect, as the answer was lost.
@Suite(.timeLimit(.minutes(5))) struct UnknownOutcomeTests {
    private let fixture = Fixture()
    private let unknown = PenstockError(.outcomeUnknown, "The answer was lost.")

    /// Made again, it would store its values twice.
    @Test func aCallThatStoresValuesIsNotMadeAgain() async throws {
        let queue = try await fixture.queue()
        let streaming = Streaming(time: fixture.time)
        fixture.calls.fail(.enqueue, .after, with: unknown)
        let (_, failure) = await streaming(
            AtOnce(1...3).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect((failure as? PenstockError)?.code == .outcomeUnknown)
        let stored = try await fixture.store.values()
        #expect(!stored.isEmpty, "It had taken effect.")
        #expect(stored == stored.sorted() && stored.count == Set(stored).count)
    }

    @Test func aCallThatOnlyClaimsIsMadeAgain() async throws {
        let queue = try await fixture.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        let streaming = Streaming(time: fixture.time)
        fixture.calls.fail(.claim, with: unknown)
        let (values, failure) = await streaming(
            AtOnce([Int]()).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(failure == nil)
        #expect(values == [1, 2, 3])
        #expect(try await fixture.store.values() == values)
    }
}
