import Foundation
import PenstockCore
import Testing

@Suite struct LatencyHistogramTests {
    @Test func theBoundsAreThoseOfTheFormula() {
        let expected = (0..<24).map { Int64((100 * pow(10, 0.4 * Double($0))).rounded()) }
        #expect(LatencyHistogram.boundsInMicroseconds == expected)
        #expect(LatencyHistogram.bounds.count == 24)
        #expect(LatencyHistogram.bounds.first == .microseconds(100))
        #expect(LatencyHistogram.bounds.last.map { $0 > .seconds(86_400) } == true)
    }

    @Test func eachBucketHasWhatItsBoundSays() {
        for (index, bound) in LatencyHistogram.boundsInMicroseconds.enumerated() {
            for (microseconds, bucket) in [(bound, index), (bound + 1, index + 1)] {
                var histogram = LatencyHistogram()
                histogram.record(.microseconds(microseconds))
                #expect(histogram.counts.firstIndex(of: 1) == bucket)
                #expect(histogram.counts.count == 25)
                #expect(histogram.sum == .microseconds(microseconds))
                #expect(histogram.count == 1)
            }
        }
    }

    @Test func whatTookLessThanNothingTookNothing() {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(-5))
        #expect(histogram.counts.first == 1)
        #expect(histogram.sum == .zero)
    }

    @Test func nothingHasNoQuantile() {
        #expect(LatencyHistogram().quantile(0.5) == nil)
        #expect(LatencyHistogram().isEmpty)
    }

    /// Against the exact quantile of what was recorded.
    @Test(arguments: [0.0, 0.01, 0.5, 0.9, 0.99, 1.0])
    func aQuantileIsOffByAFactorAtMost(_ share: Double) throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 1...50 {
            let exponents = 0.0...Double.random(in: 1...11)
            let values = (1...300).map { _ in Int64(pow(10, Double.random(in: exponents, using: &generator))) }.sorted()
            var histogram = LatencyHistogram()
            for value in values { histogram.record(.microseconds(value)) }
            let exact = values[max(0, Int((share * 300).rounded(.up)) - 1)]
            let found = try #require(histogram.quantile(share))
            let microseconds = Int64(found / .microseconds(1))
            let isNear =
                abs(microseconds - exact) <= 100
                || (Double(microseconds) / Double(exact) < 2.52 && Double(exact) / Double(microseconds) < 2.52)
            #expect(isNear, "\(share) of \(values) is \(exact), and not \(microseconds)")
        }
    }

    @Test func quantilesLieEvenlyInABucket() {
        var histogram = LatencyHistogram()
        for _ in 1...4 { histogram.record(.microseconds(150)) }
        #expect(histogram.quantile(0) == .microseconds(100))
        #expect(histogram.quantile(0.5) == .microseconds(176))
        #expect(histogram.quantile(1) == .microseconds(251))
        #expect(histogram.quantile(7) == histogram.quantile(1))
        var long = LatencyHistogram()
        long.record(.seconds(1_000_000))
        #expect(long.quantile(0.5) == LatencyHistogram.bounds.last)
    }

    @Test func addingIsRecordingAll() {
        var (first, second, both) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for number in 1...40 {
            let duration = Duration.microseconds(number * number * number * 100)
            if number.isMultiple(of: 3) { first.record(duration) } else { second.record(duration) }
            both.record(duration)
        }
        first.add(second)
        #expect(first == both)
    }

    @Test func whatIsStoredIsTheSame() {
        var histogram = LatencyHistogram()
        #expect(LatencyHistogram(stored: histogram.stored) == histogram)
        for duration in [Duration.seconds(1), .zero, .seconds(1_000_000)] {
            histogram.record(duration)
            #expect(LatencyHistogram(stored: histogram.stored) == histogram)
        }
        for numbers in [[], [-1], [1, -1], [1, 2, 0], Array(repeating: 1, count: 27)] as [[Int64]] {
            #expect(LatencyHistogram(stored: numbers) == nil, "\(numbers)")
        }
        histogram.add(LatencyHistogram(stored: [.max, .max]) ?? histogram)
        #expect(histogram.count == .max && histogram.sum == .microseconds(Int64.max), "No sum overflows.")
    }
}
