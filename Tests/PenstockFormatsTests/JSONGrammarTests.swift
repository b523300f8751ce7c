import PenstockCore
import Testing

@testable import PenstockFormats

/// What is JSON for everybody, and what for some decoders alone.
@Suite struct JSONGrammarTests {
    @Test(arguments: [
        "1", " -0.5e+10 ", "0", "1E400", "\"\"", "[]", "{}", " [ 1 , [ ] , { } ] ",
        #""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#,
        #"{"a":{"b":1,"b":2},"c":[{"a":1,"a":2}]}"#, "true", "false", "null", "\u{FEFF}{}", "\"\u{7F}é\"",
        String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
    ])
    func isJSON(text: String) throws {
        try JSONGrammar.check(Array(text.utf8)[...])
        // Its place in what it was taken from is of no matter.
        try JSONGrammar.check(Array("x\(text)".utf8).dropFirst())
    }

    @Test(arguments: [
        "", " ", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "'a'", "\"", "\"\\x\"",
        "\"\\u12\"", "\"\\u12G4\"", "\"\n\"", "[", "]", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{]", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}",
        "{a:1}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "1 1", "{} {}", "tru", "nulll", "/**/1", "[1]//", "\u{A0}1",
        ",", ":",
        String(repeating: "[", count: 513) + String(repeating: "]", count: 513),
    ])
    func isNone(text: String) {
        let error = #expect(throws: PenstockError.self) { try JSONGrammar.check(Array(text.utf8)[...]) }
        #expect(error?.code == .invalidInput && error?.message == "It is no JSON.")
    }

    @Test(arguments: [
        (#""\ud800""#, "half a character, \\ud800"), (#""\uDC00\ud800""#, "half a character, \\udc00"),
        (#""\ud800\u0041""#, "half a character"), (#""\ud800\n""#, "half a character"),
        (#"{"a":1,"b":2,"a":3}"#, "a \"a\" twice"),
    ])
    func isSaidWhy(text: String, words: String) {
        let error = #expect(throws: PenstockError.self) { try JSONGrammar.check(Array(text.utf8)[...]) }
        #expect(error?.message.contains(words) == true, "\(text)")
    }

    @Test func whatIsNotUTF8IsToldSo() {
        for bytes in [[0x22, 0xFC, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]] {
            let error = #expect(throws: PenstockError.self) { try JSONGrammar.check(bytes[...]) }
            #expect(error?.message == "It is not UTF-8.")
        }
    }

    /// A decoder takes much memory for each of them.
    @Test func hasSoManyValuesAtMost() throws {
        for text in ["[1,2]", #"{"a":[1]}"#, #"{"a":{"b":1}}"#, #"["1",{}]"#] {
            try JSONGrammar.check(Array(text.utf8)[...], valueCountMax: 3)
            let error = #expect(throws: PenstockError.self) {
                try JSONGrammar.check(Array(text.utf8)[...], valueCountMax: 2)
            }
            #expect(error?.message == JSONGrammar.hasTooManyValues.message, "\(text)")
        }
    }
}
