import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockFormats

@Suite struct TimeTextTests {
    let now = Timestamp(microseconds: 1_900_000_000_000_000)

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2001-09-09T01:46:40Z", 1_000_000_000_000_000),
        ("2001-09-09 01:46:40", 1_000_000_000_000_000), ("2001-09-09T01:46:40.25Z", 1_000_000_000_250_000),
        ("2001-09-09T01:46:40,000001Z", 1_000_000_000_000_001), ("2001-09-09T03:46:40+02:00", 1_000_000_000_000_000),
        ("2001-09-08T21:16:40-0430", 1_000_000_000_000_000), ("2001-09-09T03:46:40+02", 1_000_000_000_000_000),
        ("2001-09-09t01:46:40z", 1_000_000_000_000_000), ("2001-09-09T01:46", 999_999_960_000_000),
        ("2001-09-09", 999_993_600_000_000), ("2024-02-29T23:59:60Z", 1_709_251_200_000_000),
        ("2001-09-09T01:46:40.123456789Z", 1_000_000_000_123_456), ("1969-12-31T23:59:59.999999Z", -1),
        ("0000-01-01", -62_167_219_200_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ])
    func accepts(text: String, microseconds: Int64) throws {
        #expect(try TimeText.parse(text, now: now) == Timestamp(microseconds: microseconds))
    }

    @Test func acceptsTimesFromNow() throws {
        #expect(try TimeText.parse("+10m", now: now) == now + .seconds(600))
        #expect(try TimeText.parse("-1h30m", now: now) == now - .seconds(5400))
        #expect(try TimeText.parse("+106751991d", now: now).microseconds == .max)
    }

    @Test(arguments: [
        "", "now", "10m", "2001-9-9", "2001-02-29", "2001-13-01", "2001-00-01", "2001-01-00", "2001-04-31",
        "2001-01-01T", "2001-01-01T24:00", "2001-01-01T12:60", "2001-01-01T12:00:61", "2001-01-01T12",
        "2001-01-01T12:00:00.", "2001-01-01T12:00:00.1234567890", "2001-01-01T12:00+24:00", "2001-01-01T12:00+1",
        "2001-01-01T12:00ZZ", "2001-01-01 ", " 2001-01-01", "20010101", "12001-01-01", "1000000000",
        "2001-01-01T12:00 Z", "２００１-01-01",
    ])
    func refuses(text: String) {
        let failure = #expect(throws: PenstockError.self) { try TimeText.parse(text, now: now) }
        #expect(failure?.code == .invalidInput)
        #expect(failure?.message == "'\(text)' is no time; \(TimeText.forms).")
    }

    @Test func refusesAWrongDurationFromNow() {
        let failure = #expect(throws: PenstockError.self) { try TimeText.parse("+10", now: now) }
        #expect(failure?.message == "'10' is no duration; \(DurationText.forms).")
    }

    @Test func whatIsWrittenReadsTheSame() throws {
        var random = Seeded(2)
        for _ in 0..<10_000 {
            let moment = Timestamp(
                microseconds: .random(in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &random))
            #expect(try TimeText.parse(TimeText.format(moment), now: now) == moment)
        }
    }

    @Test func writes() {
        #expect(TimeText.format(Timestamp(microseconds: 0)) == "1970-01-01T00:00:00.000000Z")
        #expect(TimeText.format(Timestamp(microseconds: -1)) == "1969-12-31T23:59:59.999999Z")
        #expect(TimeText.format(Timestamp(microseconds: .max)) == "+294247-01-10T04:00:54.775807Z")
        #expect(TimeText.format(Timestamp(microseconds: .min)) == "-290308-12-21T19:59:05.224192Z")
    }

    /// The example of RFC 9110, 5.6.7, and days at the ends of years.
    @Test func writesAsHTTPDoes() throws {
        for (time, text) in [
            ("1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT"), ("1970-01-01", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("2024-02-29T23:59:59.999Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
            ("2026-12-31T12:00Z", "Thu, 31 Dec 2026 12:00:00 GMT"),
        ] {
            #expect(TimeText.http(try TimeText.parse(time, now: now)) == text)
        }
    }
}
