import PenstockCore
import Testing

@Suite struct TimestampTests {
    @Test func arithmetic() {
        let moment = Timestamp(microseconds: 1_000_000)
        #expect(moment + .seconds(1) == Timestamp(microseconds: 2_000_000))
        #expect(moment - .microseconds(1) == Timestamp(microseconds: 999_999))
        #expect(moment + .seconds(-3) == Timestamp(microseconds: -2_000_000))
        #expect(moment - Timestamp(microseconds: 250_000) == .milliseconds(750))
        #expect(Timestamp(microseconds: 250_000) - moment == .milliseconds(-750))
        #expect(moment < moment + .microseconds(1))
        #expect(moment + .nanoseconds(999) == moment, "What is below a microsecond is cut off.")
        #expect(moment + .nanoseconds(-999) == moment)
    }

    @Test func arithmeticStopsAtTheEnds() {
        let first = Timestamp(microseconds: .min)
        let last = Timestamp(microseconds: .max)
        #expect(last + .microseconds(1) == last)
        #expect(first - .microseconds(1) == first)
        #expect(first + .microseconds(-1) == first)
        #expect(last - .microseconds(-1) == last)
        #expect(Timestamp(microseconds: 5) + .seconds(Int64.max) == last)
        #expect(Timestamp(microseconds: -5) - .seconds(Int64.max) == first)
        #expect(last - first == .microseconds(Int64.max))
        #expect(first - last == .microseconds(Int64.min))
        #expect(first - Timestamp(microseconds: 0) == .microseconds(Int64.min))
        #expect(Timestamp(microseconds: 0) - first == .microseconds(Int64.max))
    }

    private static let wholes: [(Duration, Int64)] = [
        (.zero, 0),
        (.nanoseconds(999), 0),
        (.nanoseconds(1000), 1),
        (.nanoseconds(-999), 0),
        (.nanoseconds(-1000), -1),
        (.seconds(1) + .nanoseconds(1999), 1_000_001),
        (.seconds(-1) - .nanoseconds(1999), -1_000_001),
        (.microseconds(Int64.max), .max),
        (.microseconds(Int64.min), .min),
        (.seconds(Int64.max), .max),
        (.seconds(Int64.min), .min),
        (.seconds(9_223_372_036_854) + .microseconds(775_807), .max),
        (.seconds(9_223_372_036_854) + .microseconds(775_808), .max),
    ]

    @Test func wholeMicroseconds() {
        for (duration, expected) in Self.wholes {
            #expect(duration.wholeMicroseconds == expected, "\(duration)")
        }
    }
}
