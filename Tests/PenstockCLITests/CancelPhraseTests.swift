import PenstockCore
import Testing

@testable import PenstockCLI

/// What `penstock cancel` says of messages that workers have: some may be done before their worker hears of it.
@Suite struct CancelPhraseTests {
    @Test(
        arguments: [
            (1, 0, 0, nil), (1, 1, 0, "cancelled once its worker has ended, unless it is done by then"),
            (1, 0, 1, "done all the same, as its worker says"),
            (3, 3, 0, "cancelled once their workers have ended, unless they are done by then"),
            (3, 2, 0, "cancelled, 2 of them once their workers have ended, unless they are done by then"),
            (3, 0, 1, "cancelled, but for 1 done all the same, as a worker says"),
            (
                3, 1, 1,
                "cancelled, 1 of them once its worker has ended, unless it is done by then, but for 1 done all the same, as a worker says"
            ),
        ] as [(Int, Int, Int, String?)])
    func itSaysWhatBecameOfEach(count: Int, asked: Int, done: Int, phrase: String?) {
        #expect(CancelCommand.phrase(of: count, asked: asked, done: done) == phrase)
    }

    /// They are cancelled by then.
    @Test @MainActor func whatCannotBeReadOfThemDoesNotLookAsIfNothingWasDone() async throws {
        let cause = PenstockError(.storage, "The disk reported an error.")
        let failure = await #expect(throws: Failure.self) {
            _ = try await CountAddition.read(beside: 2, "cancelled") { throw cause }
        }
        #expect(failure?.status == .outcomeUnknown)
        #expect(failure?.message.hasPrefix("2 messages cancelled. But") == true)
        #expect(failure?.message.hasSuffix(cause.message) == true)
        await #expect(throws: PenstockError.self) {
            _ = try await CountAddition.read(beside: 0, "cancelled") { throw cause }
        }
    }
}
