import Testing

@testable import PenstockFormats

/// A value that is written part by part is the same text.
@Suite struct JSONPartsTests {
    private var values: [JSONValue] {
        [
            .null, .integer(-7), .array([]), .object([:]), .string(""),
            .string(String(repeating: "a\"\\\n\u{1}é\u{301}漢👩‍👧\u{E0001}", count: 20)),
            .string(
                String(repeating: "❤\u{FE0F}a\u{FE0F}1\u{FE0F}\u{20E3}2\u{FE0F}\u{FE0F}\u{20E3}葛\u{E0100}", count: 20)),
            .object([
                "plain": .bool(true),
                "a\"b": .array([.string("x"), .array([.null, .object(["c": .string("long enough")])])]),
                "": .object(["d": .decimal(0.5), "e": .array([.object([:]), .array([])])]),
            ]),
        ]
    }

    @Test(arguments: [1, 2, 3, 7, 16, 1000]) func thePartsTogetherAreTheText(partBytes: Int) {
        for value in values {
            var parts = JSONParts(of: value, partBytes: partBytes)
            var together: [UInt8] = []
            while let part = parts.next() {
                #expect(!part.isEmpty)
                together += part
            }
            // Compared by bytes: two texts are the same for Swift when they only look so.
            #expect(together == value.bytes, "\(value.text)")
        }
    }

    @Test func aLongTextIsNeverWholeInAPart() {
        let text = String(repeating: "\u{1}", count: 10_000)
        var parts = JSONParts(of: .object(["payload": .string(text)]), partBytes: 100)
        var (count, largest) = (0, 0)
        while let part = parts.next() {
            count += 1
            largest = max(largest, part.count)
        }
        #expect(count >= 100 && largest <= 100 + 6 * 100)
    }
}
