import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockFormats

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("250ms", Duration.milliseconds(250)), ("10s", .seconds(10)), ("5m", .seconds(300)), ("2h", .seconds(7200)),
        ("7d", .seconds(7 * 86_400)), ("1h30m", .seconds(5400)), ("100us", .microseconds(100)), ("0s", .zero),
        ("0", .zero), ("1d2h3m4s5ms6us", .microseconds(93_784_005_006)), ("90m", .seconds(5400)),
        ("007s", .seconds(7)),
    ])
    func accepts(text: String, duration: Duration) throws {
        #expect(try DurationText.parse(text) == duration)
    }

    @Test(arguments: [
        "", " ", "s", "10", "10 s", "10S", "1.5s", "-5s", "+5s", "5s1m", "5s5s", "1h30", "5min", "5w", "10s ", "१0s",
        "1e3s", "0x1s", "5µs",
    ])
    func refuses(text: String) {
        let failure = #expect(throws: PenstockError.self) { try DurationText.parse(text) }
        #expect(failure?.code == .invalidInput)
        #expect(failure?.message == "'\(text)' is no duration; \(DurationText.forms).")
    }

    @Test(arguments: ["99999999999999999999s", "106751992d", "106751991d99999999h", "9223372036854775807s"])
    func refusesWhatDoesNotFit(text: String) {
        let failure = #expect(throws: PenstockError.self) { try DurationText.parse(text) }
        #expect(failure?.message.contains("too long") == true)
    }

    @Test func whatIsWrittenReadsTheSame() throws {
        var random = Seeded(1)
        for _ in 0..<10_000 {
            let bits = Int64.random(in: 0...62, using: &random)
            let duration = Duration.microseconds(Int64.random(in: 0...(1 << bits), using: &random))
            #expect(try DurationText.parse(DurationText.format(duration)) == duration)
        }
    }

    @Test func writes() {
        #expect(DurationText.format(.zero) == "0s")
        #expect(DurationText.format(.seconds(-90)) == "-1m30s")
        #expect(DurationText.format(.microseconds(Int64.min)) == "-106751991d4h54s775ms808us")
        #expect(DurationText.short(.microseconds(93_784_005_006)) == "1d2h")
        #expect(DurationText.short(.microseconds(4_005_006)) == "4s5ms")
        #expect(DurationText.short(.microseconds(6)) == "6us")
        #expect(DurationText.short(.seconds(-61)) == "-1m1s")
        #expect(DurationText.short(.zero) == "0s")
    }
}
