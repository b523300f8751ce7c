import PenstockCore
import Testing

/// What is left of an error where one failure is not to be told from another of the same cause.
@Suite struct ErrorSignatureTests {
    @Test(arguments: [
        ("", ""), ("user 42 is gone", "user # is gone"), ("a\nb", "a"), ("a\r\nb", "a"), ("\n \t\n  a  \nb", "a"),
        ("   \n\t", ""), ("1", "#"), ("12:30:01.5", "#:#:#.#"), ("0x1F", "#x#F"), ("#7", "#"), ("7#7", "##"),
        ("caf\u{E9} 1", "caf\u{E9} #"), ("\u{661}", "\u{661}"),
    ])
    func isTheFirstLineWithoutNumbers(_ error: String, _ expected: String) {
        let signature = ErrorSignature(.rejected, error)
        #expect(signature.error == expected)
        #expect(ErrorSignature(.rejected, signature.error) == signature, "Made anew of itself it is the same.")
        #expect(ErrorSignature(.attemptsExhausted, error) != signature)
    }

    @Test func isBounded() {
        let long = ErrorSignature(nil, String(repeating: "x", count: 4096)).error
        #expect(long.utf8.count == Limits.signatureBytesMax)
        // A character of two bytes over the end is left out.
        let cut = ErrorSignature(nil, "x" + String(repeating: "\u{E9}", count: 4096)).error
        #expect(cut.utf8.count == Limits.signatureBytesMax - 1)
        #expect(cut.hasSuffix("\u{E9}"))
        #expect(ErrorSignature(nil, cut).error == cut)
        let numbers = ErrorSignature(nil, String(repeating: "1", count: 4096) + "x").error
        #expect(numbers == "#x", "A number takes one byte, however long it is.")
    }
}
