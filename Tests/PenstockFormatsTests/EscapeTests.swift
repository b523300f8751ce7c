import PenstockTestKit
import Testing

@testable import PenstockFormats

@Suite struct EscapeTests {
    @Test(arguments: [
        ("plain", "plain"), ("", ""), ("a\nb\r\tc", #"a\nb\r\tc"#), ("\u{1B}[31mred\u{7F}\0", #"\x1B[31mred\x7F\x00"#),
        (#"C:\n"#, #"C:\\n"#), ("Ünïcødé 漢字 👩‍👩‍👧", "Ünïcødé 漢字 👩‍👩‍👧"), ("\u{85}\u{9B}", #"\u{85}\u{9B}"#),
        ("abc\u{202E}fdp", #"abc\u{202E}fdp"#), ("a\u{2028}b", #"a\u{2028}b"#), ("\u{FEFF}x", #"\u{FEFF}x"#),
        ("a\u{3164}", #"a\u{3164}"#), ("a\u{FE0F}b", #"a\u{FE0F}b"#), ("\u{2800}", #"\u{2800}"#),
        ("❤\u{FE0F}", "❤\u{FE0F}"), ("☎\u{FE0E}", "☎\u{FE0E}"), ("1\u{FE0F}\u{20E3} a", "1\u{FE0F}\u{20E3} a"),
        ("葛\u{E0100}", "葛\u{E0100}"), ("\u{182D}\u{180B}", "\u{182D}\u{180B}"), ("1\u{FE0F}a", #"1\u{FE0F}a"#),
        ("❤\u{FE0F}\u{FE0E}", "❤\u{FE0F}\\u{FE0E}"), ("a\u{E0100}", #"a\u{E0100}"#),
        ("\0\u{FE0F}\u{20E3}", "\\x00\\u{FE0F}\u{20E3}"), ("a\u{180B}", #"a\u{180B}"#),
    ])
    func makesTextSafe(text: String, safe: String) {
        #expect(Escape.text(text) == safe)
        #expect(Escape.bytes(Array(text.utf8)[...]) == safe)
    }

    @Test(arguments: [
        ("", ""), ("a\n", #"a\n"#), (String(repeating: "é", count: 100), String(repeating: "é", count: 100)),
        (String(repeating: "\u{7F}", count: 101), String(repeating: #"\x7F"#, count: 100) + "…"),
    ])
    func anExcerptIsTheBeginning(text: String, excerpt: String) {
        #expect(Escape.excerpt(text) == excerpt)
    }

    @Test func aLineKeepsItsBackslashes() {
        #expect(Escape.line("a\\nb \\ \u{1B}c\n") == #"a\nb \ \x1Bc\n"#)
        #expect(Escape.line("") == "")
    }

    @Test(arguments: [
        ([0xFF, 0x61], #"\xFFa"#), ([0xC3], #"\xC3"#), ([0xC3, 0x28], #"\xC3("#), ([0xE2, 0x82, 0x41], #"\xE2\x82A"#),
        ([0xED, 0xA0, 0x80], #"\xED\xA0\x80"#), ([0xC0, 0xAF], #"\xC0\xAF"#), ([0x61, 0x0A, 0x80], #"a\n\x80"#),
    ])
    func showsBytesThatAreNotUTF8(bytes: [UInt8], safe: String) {
        #expect(Escape.bytes(bytes[...]) == safe)
    }

    @Test func hidesNothingAndBreaksNothing() throws {
        var random = Seeded(3)
        for length in 0..<2000 {
            let bytes = random.bytes(length % 64)
            let safe = Escape.bytes(bytes[...])
            #expect(!safe.unicodeScalars.contains { $0.properties.generalCategory == .control })
            #expect(unescaped(safe) == bytes)
        }
    }

    @Test func takesASliceByItsOwnBounds() {
        let bytes: [UInt8] = [0x61, 0xFF, 0x62, 0x0A]
        #expect(Escape.bytes(bytes[1..<3]) == #"\xFFb"#)
    }

    @Test(arguments: [
        ("a b", "a%20b"), ("../x", "..%2Fx"), ("..", ".."), ("\"'<>", "%22%27%3C%3E"), ("ü\n", "%C3%BC%0A"),
    ])
    func aPartOfAnAddressIsEscaped(text: String, part: String) {
        #expect(URLText.escape(text) == part)
    }

    /// The bytes that `safe` shows.
    private func unescaped(_ safe: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = safe.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                bytes += String(scalar).utf8
                continue
            }
            switch rest.popFirst() {
            case "\\": bytes.append(0x5C)
            case "n": bytes.append(0x0A)
            case "r": bytes.append(0x0D)
            case "t": bytes.append(0x09)
            case "x":
                bytes.append(UInt8(String(rest.prefix(2)), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default:
                let digits = rest.dropFirst().prefix { $0 != "}" }
                if let scalar = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) {
                    bytes += String(scalar).utf8
                }
                rest = rest.dropFirst(digits.count + 2)
            }
        }
        return bytes
    }
}
