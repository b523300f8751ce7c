import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockFormats

@Suite struct JSONValueTests {
    @Test func keepsTheOrderOfKeys() {
        let value: JSONValue = .object([
            "sequence": .integer(7), "a": .null, "flag": .bool(true),
            "list": .array([.integer(-1), .string("x"), .array([]), .object([:])]),
        ])
        #expect(value.text == #"{"sequence":7,"a":null,"flag":true,"list":[-1,"x",[],{}]}"#)
    }

    @Test(arguments: [
        ("plain", #""plain""#), (#"a"b\c"#, #""a\"b\\c""#), ("\n\r\t\0\u{1F}", #""\n\r\t\u0000\u001f""#),
        ("\u{7F}\u{9B}\u{2028}\u{202E}", #""\u007f\u009b\u2028\u202e""#), ("漢👩‍👧", "\"漢👩‍👧\""),
        ("\u{E0001}", #""\udb40\udc01""#),
    ])
    func quotes(text: String, quoted: String) {
        #expect(JSONValue.string(text).text == quoted)
    }

    @Test(arguments: [
        (Duration.zero, "0"), (.seconds(90), "90"), (.milliseconds(250), "0.25"), (.microseconds(-1), "-0.000001"),
        (.seconds(3600) + .microseconds(10), "3600.00001"),
    ])
    func writesSecondsExactly(duration: Duration, text: String) {
        #expect(JSONValue.seconds(duration).text == text)
    }

    @Test func writesNumbersThatJSONHas() {
        #expect(JSONValue.decimal(0.5).text == "0.5")
        #expect(JSONValue.decimal(.infinity).text == "null")
        #expect(JSONValue.optional(Int?.none) { .integer($0) } == .null)
    }

    /// A selector behind an emoji is a part of it.
    @Test func showsWhatNobodySees() {
        #expect(JSONValue.string("a\u{3164}").text == #""a\u3164""#)
        #expect(JSONValue.string("a1\u{FE0F}").text == #""a1\ufe0f""#)
        for seen in ["❤\u{FE0F}", "1\u{FE0F}\u{20E3}", "葛\u{E0100}"] {
            #expect(JSONValue.string(seen).text.utf8.elementsEqual("\"\(seen)\"".utf8))
        }
    }

    @Test func staysOnOneLine() {
        var random = Seeded(4)
        for _ in 0..<1000 {
            let text = String(decoding: random.bytes(40), as: UTF8.self)
            #expect(!JSONValue.string(text).text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func writesBase64(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
    }

    @Test func writesBase64OfAnyByte() {
        #expect(Base64.encode([0xFB, 0xFF, 0xFE]) == "+//+")
    }

    /// What took longer than the last bound has a bucket without one, or they would not add up.
    @Test func theBucketsOfAQueueAddUp() throws {
        var status = QueueStatus(
            name: QueueName(stored: "q"), policy: QueuePolicy(), isPaused: false, depths: Depths(), totals: Totals())
        for duration in [Duration.milliseconds(3), .milliseconds(3), .seconds(1_000_000)] {
            status.latency.wait.record(duration)
        }
        let told = try JSONDecoder().decode(Told.self, from: Data(status.json.bytes)).latency.wait
        #expect(told.count == 3 && told.sumSeconds == 1_000_000.006)
        #expect(told.buckets.map(\.count) == [2, 1])
        #expect(told.buckets.first?.upToSeconds.map { $0 >= 0.003 && $0 < 0.01 } == true)
        #expect(told.buckets.last?.upToSeconds == nil)
    }

    private struct Told: Decodable {
        struct Latency: Decodable { var wait: Histogram }
        struct Histogram: Decodable {
            var count: Int
            var sumSeconds: Double
            var buckets: [Bucket]
        }
        struct Bucket: Decodable {
            var upToSeconds: Double?
            var count: Int
        }

        var latency: Latency
    }

    /// Texts and bytes by chance, as another program reads them.
    @Test func isReadAsItWasWritten() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        let random = SeededRandom(seed: seed)
        let scalars: [Unicode.Scalar] = [
            "a", "\"", "\\", "\n", "\u{0}", "\u{7F}", "é", "\u{2028}", "\u{202E}", "€", "😀", "\u{200D}",
        ]
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<(random.next() % 20) {
                text.unicodeScalars.append(scalars[Int(random.next() % UInt64(scalars.count))])
            }
            let bytes = (0..<(random.next() % 20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let json = JSONValue.object(["text": .string(text), "bytes": .string(Base64.encode(bytes))]).text
            let read = try JSONDecoder().decode(Written.self, from: Data(json.utf8))
            #expect(Array(read.text.unicodeScalars) == Array(text.unicodeScalars), "seed \(seed)")
            #expect(Array(read.bytes) == bytes, "seed \(seed)")
        }
    }

    private struct Written: Decodable {
        var text: String
        var bytes: Data
    }
}
