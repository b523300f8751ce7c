import Penstock
import PenstockFormats

/// What a command writes to standard error to say how long the other end is to be left alone: a line such as `Retry-After: 30`, as
/// the header of HTTP has it (RFC 9110, 10.2.3), in seconds, as a date, or as a duration.
enum RetryAfterLine {
    private static let name = "retry-after:"

    /// The time of the last such line in `text` that can be read; `nil` when there is none.
    static func duration(in text: String, now: Timestamp) -> Duration? {
        for line in text.split(whereSeparator: \.isNewline).reversed() where line.lowercased().hasPrefix(name) {
            let value = String(line.dropFirst(name.count).drop(while: \.isWhitespace))
            if let duration = duration(value, now: now) { return min(duration, Answer.holdMax) }
        }
        return nil
    }

    private static func duration(_ value: String, now: Timestamp) -> Duration? {
        let word = String(value.prefix { !$0.isWhitespace })
        if let seconds = Int64(word) { return seconds >= 0 ? .seconds(seconds) : nil }
        if !word.isEmpty, word.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) {
            return Answer.holdMax
        }
        if let moment = date(value, now: now) { return max(.zero, moment - now) }
        return try? DurationText.parse(word)
    }

    /// A date as HTTP writes it: `Tue, 24 Nov 2026 23:59:59 GMT` (RFC 9110, 5.6.7).
    private static func date(_ value: String, now: Timestamp) -> Timestamp? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let words = value.split(whereSeparator: \.isWhitespace)
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return try? TimeText.parse("\(words[3])-\(number)-\(words[1])T\(words[4])Z", now: now)
    }
}
