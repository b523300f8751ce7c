import Foundation
import PenstockCore
import Testing

@Suite struct QueueNameTests {
    @Test(arguments: [
        "a", "mail", "Füße", "two words", "tenant/42:mail", "🐟", "👩‍👩‍👧", "می‌خواهم", "'; DROP TABLE queue; --",
        String(repeating: "q", count: Limits.queueNameBytesMax),
    ])
    func names(_ text: String) throws {
        #expect(try QueueName(text).text == text)
        #expect(try QueueName(text).description == text)
    }

    @Test(arguments: [
        "", " ", " a", "a ", "a\u{A0}", "\u{2003}a", "a\nb", "a\0b", "a\tb", "a\u{7F}b", "\u{85}", "a\r\n",
        "a\u{202E}b", "a\u{2066}b", "a\u{200B}", "\u{200F}a", "\u{FEFF}a", "a\u{AD}b", "a\u{2028}b", "a\u{2029}b",
        String(repeating: "q", count: Limits.queueNameBytesMax + 1),
        String(repeating: "ü", count: Limits.queueNameBytesMax / 2) + "q",
    ])
    func noNames(_ text: String) {
        #expect(refusal { () throws(PenstockError) in _ = try QueueName(text) } == .invalidInput)
    }

    @Test func orderIsThatOfTheText() throws {
        let names = try ["b", "a", "ab", "B"].map { try QueueName($0) }
        #expect(names.sorted().map(\.text) == ["B", "a", "ab", "b"])
    }

    /// A store compares bytes, and Swift takes these for one text.
    @Test func namesAreTheirBytes() throws {
        let (one, two) = ("\u{e9}", "e\u{301}")
        #expect(one == two)
        #expect(try Set([QueueName(one), QueueName(two)]).count == 2)
        #expect(try Set([CursorName(one), CursorName(two)]).count == 2)
        let sorted = try [QueueName(one), QueueName(two)].sorted()
        #expect(sorted.map(\.text.utf8.count) == [3, 2])
    }

    @Test func decodingChecksToo() throws {
        let name = try QueueName("mail")
        let data = try JSONEncoder().encode([name])
        #expect(String(decoding: data, as: UTF8.self) == #"["mail"]"#)
        #expect(try JSONDecoder().decode([QueueName].self, from: data) == [name])
        #expect(throws: (any Error).self) { try JSONDecoder().decode([QueueName].self, from: Data(#"[" "]"#.utf8)) }
    }
}
