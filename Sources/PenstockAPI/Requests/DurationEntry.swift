import PenstockCore
import PenstockFormats

/// A duration in JSON: text such as `30s`, or a number of seconds.
struct DurationEntry: Decodable {
    var duration: Duration

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            duration = try DurationText.parse(text)
            return
        }
        let seconds = try container.decode(Double.self)
        try require(seconds.magnitude <= 1e12, "A duration has at most 10^12 seconds.")
        duration = .microseconds(Int64((seconds * 1_000_000).rounded()))
    }
}

extension Members {
    /// The duration; `nil` when there is none, or it is null.
    func duration(_ name: String) throws -> Duration? { try (value(name) as DurationEntry?)?.duration }

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
