import PenstockCore
import Testing

@testable import PenstockFormats

/// Commands that somebody is advised to type, with names in them that others have given.
@Suite struct ShellWordsTests {
    @Test(arguments: [
        ("mail", "mail"), ("eu.west/1_a-b", "eu.west/1_a-b"), ("", "''"), ("a b", "'a b'"), ("$(x)", "'$(x)'"),
        ("it's", #"'it'\''s'"#), ("'\u{301};x;'\u{301}", "''\\''\u{301};x;'\\''\u{301}'"), ("-f", "-- '-f'"),
        ("a\nb", #"'a\nb'"#), ("é", "'é'"), (#"a\b"#, #"'a\b'"#),
    ])
    func aNameIsOneWord(text: String, word: String) {
        let shown = ShellWords.arguments(text)
        // Compared by bytes: two texts are the same for Swift when they only look so.
        #expect(Array(shown.utf8) == Array(word.utf8), "\(shown)")
    }

    @Test func noneOfSeveralIsAnOption() {
        #expect(ShellWords.arguments("mail", "--db=elsewhere") == "-- mail '--db=elsewhere'")
        #expect(ShellWords.arguments("mail", "customer-7") == "mail customer-7")
    }

    /// A group's key is any producer's text.
    @Test func theAdviceOfAWaitRunsNothingElse() {
        let sent = Timestamp(microseconds: 0)
        let message = MessageRecord(
            sequence: SequenceNumber(1), queue: QueueName(stored: "my mail"), state: .blocked, attemptsMax: 3,
            enqueuedAt: sent, group: "a; touch PWNED; #", payloadBytes: 0)
        let causes: [WaitReason.Cause] = [.groupPaused, .groupHeld(until: sent), .queuePaused]
        let lines = WaitText.lines(WaitReason(message: message, causes: causes), at: sent)
        for line in lines.dropFirst().prefix(2) {
            #expect(line.contains("`penstock group resume 'my mail' 'a; touch PWNED; #'` lets it go on."), "\(line)")
        }
        #expect(lines.last == "The queue is paused; `penstock queue resume 'my mail'` lets it go on.")
    }
}
