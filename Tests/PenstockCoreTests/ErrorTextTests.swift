import PenstockCore
import Testing

@Suite struct ErrorTextTests {
    @Test(arguments: ["", "short", String(repeating: "x", count: Limits.errorTextBytesMax)])
    func shortTextIsKeptWhole(_ text: String) {
        #expect(ErrorText.kept(text) == text)
    }

    @Test func ofLongTextTheEndIsKept() {
        let text = "the beginning " + String(repeating: "x", count: Limits.errorTextBytesMax) + " the end"
        let kept = ErrorText.kept(text)
        #expect(kept.utf8.count == Limits.errorTextBytesMax)
        #expect(kept.hasPrefix("…x"))
        #expect(kept.hasSuffix("x the end"))
        #expect(ErrorText.kept(kept) == kept)
    }

    /// A cut may fall on any byte of a character; no half of one is left.
    @Test(arguments: ["é", "€", "💥", "e\u{301}"])
    func noCharacterIsCutInHalf(_ character: String) {
        for padding in 0..<character.utf8.count {
            let text =
                String(repeating: character, count: Limits.errorTextBytesMax) + String(repeating: ".", count: padding)
            let kept = ErrorText.kept(text)
            #expect(kept.utf8.count <= Limits.errorTextBytesMax)
            #expect(kept.utf8.count > Limits.errorTextBytesMax - character.utf8.count)
            #expect(!kept.unicodeScalars.contains("\u{FFFD}"))
            #expect(text.utf8.reversed().starts(with: kept.dropFirst().utf8.reversed()))
        }
    }

    @Test func failuresKeepTheEnd() {
        let text = String(repeating: "x", count: 5000) + "!"
        #expect(Lifecycle.Failure(.failed, text).error == ErrorText.kept(text))
    }
}
