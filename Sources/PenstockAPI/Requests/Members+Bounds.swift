import PenstockCore
import PenstockFormats

extension Members {
    /// The duration within its range.
    func duration(_ name: String, in range: ClosedRange<Duration>) throws -> Duration? {
        guard let duration = try duration(name) else { return nil }
        try require(
            range.contains(duration),
            "\"\(name)\" is from \(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound)).")
        return duration
    }

    /// The number within its range.
    func count(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let count: Int = try value(name) else { return nil }
        try require(
            range.contains(count), "\"\(name)\" is a whole number from \(range.lowerBound) to \(range.upperBound).")
        return count
    }
}
