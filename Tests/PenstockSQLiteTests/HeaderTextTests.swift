import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What is written and read by hand is what Foundation writes and reads.
@Suite struct HeaderTextTests {
    private let folder = TemporaryFolder()

    /// Every control character, every character of one and two bytes, and some that are known to be trouble.
    private static let scalars: [Unicode.Scalar] =
        (0...0x7FF).compactMap { Unicode.Scalar($0) } + [
            "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{1F600}", "\u{10FFFF}",
        ]

    @Test func isWrittenAsFoundationWritesIt() throws {
        for scalar in Self.scalars {
            for headers in [["event": "a\(scalar)b"], ["event": "\(scalar)"], ["a\(scalar)": "b"]] {
                let text = try #require(HeaderText.encode(headers))
                let expected = try #require(HeaderText.encodeAny(headers))
                #expect(Array(text.utf8) == Array(expected.utf8), "U+\(String(scalar.value, radix: 16))")
                let read = try #require(HeaderText.decode(text).first)
                #expect(headers.first.map { Array(($0.key + $0.value).utf8) } == Array((read.key + read.value).utf8))
            }
        }
        for value in ["", "/", "a/b", #"""#, #"\"#, #"\""#, #"{"a":"b"}"#, "\r\n", String(repeating: "ø", count: 4096)]
        {
            #expect(HeaderText.encode(["event": value]) == HeaderText.encodeAny(["event": value]))
        }
        let several = ["b": "1", "a": "2", "C": "3", "a10": "4", "a9": "5"]
        #expect(HeaderText.encode(several) == HeaderText.encodeAny(several))
        #expect(HeaderText.encode([:]) == nil)
    }

    @Test func isReadAsFoundationReadsIt() {
        var texts = [
            "", "{", "}", "{}", "[]", "null", "1", #""a""#, #"{"a"}"#, #"{"a":}"#, #"{"a":"b"}"#, #"{"":""}"#,
            #"{"a":"b""#, #"{"a":"b"}}"#,
            #"{"a":"b"},"#, #" {"a":"b"}"#, #"{"a":"b"} "#, #"{"a": "b"}"#, #"{"a" :"b"}"#, #"{"a":"b",}"#,
            #"{"a":"b","c":"d"}"#,
            #"{"a":"b","a":"c"}"#, #"{"a":1}"#, #"{"a":null}"#, #"{"a":"b\n"}"#, #"{"a":"b\u00e9"}"#, #"{"a\"":"b"}"#,
            #"{"a":"b\"}"#,
            #"{"a":"b\\"}"#, #"{"a":"b"x}"#, #"{"a":{"b":"c"}}"#, #"{'a':'b'}"#, #"{"a":"","b":""}"#, #"{"a":"":"b"}"#,
        ]
        for scalar in Self.scalars {
            texts += [
                "{\"event\":\"\(scalar)\"}", "{\"event\":\"a\(scalar)\"}", "{\"\(scalar)\":\"a\"}",
                "\(scalar){\"event\":\"a\"}",
            ]
        }
        for text in texts {
            let read = HeaderText.decode(text)
            let expected = HeaderText.decodeAny(text)
            #expect(read.count == expected.count, "\(text.debugDescription)")
            for (name, value) in expected {
                #expect(read[name].map { Array($0.utf8) } == Array(value.utf8), "\(text.debugDescription)")
            }
        }
        #expect(HeaderText.decode(nil) == [:])
    }

    /// Neighbours in a page that Swift calls equal, that have none, or that nobody can read.
    @Test func eachRowOfAPageHasItsOwn() async throws {
        let store = try await SQLiteStore.open(path: folder.file("queue.db"))
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let values: [String?] = [
            "\u{E9}", "\u{E9}", "e\u{301}", nil, "e\u{301}", "\u{E9}", nil, nil, "", "\"", "\"", "b",
        ]
        let messages = values.map { NewMessage(payload: [1], headers: $0.map { ["event": $0] } ?? [:]) }
        _ = try await store.append(messages, to: .jobs, unless: nil, durability: .processCrash)
        let page = try await store.log(LogQuery(queue: .jobs, .after(SequenceNumber(0))))
        let read = page.records.map { $0.headers["event"].map { Array($0.utf8) } }
        #expect(read == values.map { $0.map { Array($0.utf8) } })
        try await store.close()
    }
}
