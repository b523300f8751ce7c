import Testing

@testable import PenstockCLI

/// What a process of a command that stays may say, and when.
@Suite(.timeLimit(.minutes(5))) struct DialogueTests {
    private final class Ends: Sendable {
        private let (all, adding) = AsyncStream.makeStream(of: Dialogue.End.self)
        func add(_ end: Dialogue.End) { adding.yield(end) }
        func first() async -> Dialogue.End? { await all.first { _ in true } }
    }

    private let ends = Ends()

    private func dialogue() -> Dialogue {
        Dialogue(.lines, bytesMax: 10) { [ends] in ends.add($0) }
    }

    private func say(_ text: String, _ dialogue: Dialogue) {
        Array(text.utf8).withUnsafeBytes { dialogue.received($0) }
    }

    @Test func anAnswerFollowsAMessage() async {
        let dialogue = dialogue()
        for number in 1...3 {
            #expect(dialogue.begin())
            say("a", dialogue)
            async let answer = dialogue.answer()
            say("b\n", dialogue)
            #expect(await answer == .done(Array("ab".utf8)))
            #expect(dialogue.answerCount == number)
        }
        #expect(dialogue.ending == nil)
    }

    @Test func whatIsSaidUnaskedEndsIt() async {
        let dialogue = dialogue()
        say("hello\n", dialogue)
        #expect(await ends.first() == .unasked)
        #expect(!dialogue.begin())
    }

    @Test func twoAnswersToOneMessageEndIt() async {
        let dialogue = dialogue()
        #expect(dialogue.begin())
        say("a\nb\n", dialogue)
        #expect(await dialogue.answer() == nil)
        #expect(dialogue.ending == .surplus)
        #expect(dialogue.answerCount == 0)
    }

    @Test func anAnswerBeyondTheBoundEndsIt() async {
        let dialogue = dialogue()
        #expect(dialogue.begin())
        async let answer = dialogue.answer()
        say("twelve bytes", dialogue)
        #expect(await answer == nil)
        #expect(dialogue.ending == .tooLong)
    }

    /// It ends before its worker has come to hear the answer.
    @Test func anAnswerOutlivesTheEnd() async {
        let dialogue = dialogue()
        #expect(dialogue.begin())
        say("a\n", dialogue)
        dialogue.end(.closed)
        #expect(await dialogue.answer() == .done(Array("a".utf8)))
        #expect(await dialogue.answer() == nil)
        #expect(!dialogue.begin())
    }

    @Test func moreThanAnAnswerSpoilsIt() async {
        let dialogue = dialogue()
        #expect(dialogue.begin())
        say("a\n", dialogue)
        say("b\n", dialogue)
        #expect(await dialogue.answer() == nil)
        #expect(dialogue.ending == .unasked)
    }

    @Test func theFirstEndCounts() async {
        let dialogue = dialogue()
        #expect(dialogue.begin())
        dialogue.end(.stopped(.timeout))
        dialogue.end(.closed)
        say("late\n", dialogue)
        #expect(await dialogue.answer() == nil)
        #expect(dialogue.ending == .stopped(.timeout))
    }
}
