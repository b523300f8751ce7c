import Penstock

/// What a command writes to standard error to say how long the other end is to be left alone: a line such as `Retry-After: 30`, as
/// the header of HTTP has it (RFC 9110, 10.2.3), in seconds or as a duration.
enum RetryAfterLine {
    private static let name = "retry-after:"

    /// The time of the last such line in `text`; `nil` when there is none that can be read.
    static func duration(in text: String) -> Duration? {
        for line in text.split(whereSeparator: \.isNewline).reversed() where line.lowercased().hasPrefix(name) {
            let value = line.dropFirst(name.count).drop(while: \.isWhitespace)
            let word = String(value.prefix { !$0.isWhitespace })
            if let seconds = Int64(word) { return seconds >= 0 ? .seconds(seconds) : nil }
            return try? DurationText.parse(word)
        }
        return nil
    }
}
