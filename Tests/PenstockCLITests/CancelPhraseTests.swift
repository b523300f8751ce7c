import Testing

@testable import PenstockCLI

/// What `penstock cancel` says of messages that workers have: some may be done before their worker hears of it.
@Suite struct CancelPhraseTests {
    @Test(
        arguments: [
            (1, 0, 0, nil), (1, 1, 0, "cancelled once its worker has ended"),
            (1, 0, 1, "done all the same, as its worker says"),
            (3, 2, 0, "cancelled, 2 of all once a worker has ended"),
            (3, 0, 1, "cancelled, but for 1 done all the same, as a worker says"),
            (3, 1, 1, "cancelled, 1 of all once a worker has ended, but for 1 done all the same, as a worker says"),
        ] as [(Int, Int, Int, String?)])
    func itSaysWhatBecameOfEach(count: Int, asked: Int, done: Int, phrase: String?) {
        #expect(CancelCommand.phrase(of: count, asked: asked, done: done) == phrase)
    }
}
