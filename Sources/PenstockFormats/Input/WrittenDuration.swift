import PenstockCore

/// A duration in JSON: text such as `30s`, or a number of seconds.
package enum WrittenDuration: Decodable {
    case text(String)
    case seconds(Duration)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
            return
        }
        let seconds = try container.decode(Double.self)
        try require(seconds.magnitude <= 1e12, "A duration has at most 10^12 seconds.")
        self = .seconds(.microseconds(Int64((seconds * 1_000_000).rounded())))
    }

    package var duration: Duration {
        get throws(PenstockError) {
            switch self {
            case .text(let text): try DurationText.parse(text)
            case .seconds(let duration): duration
            }
        }
    }
}

extension Members {
    /// The duration; `nil` when there is none, or it is null.
    package func duration(_ name: String) throws -> Duration? { try (value(name) as WrittenDuration?)?.duration }
}
